"""Turns a script's times and durations into the text of a call: `datetime`, ISO text, seconds, or "-1h"."""

from __future__ import annotations

import datetime
import math
from typing import Any, Final

from kubescript.kube import durations, times

__all__ = ["duration", "moment"]

_LONGEST: Final = 100
"""How many characters of a time are looked at."""
# No time before the year 5138 has as many seconds; a smaller unit is therefore recognized by its number.
_MANY: Final = 100_000_000_000
_TIMES: Final = 'a datetime, ISO text, seconds since the epoch, "now" or "-1h"'
_DURATIONS: Final = 'a timedelta, seconds, or text such as "5m"'


def moment(value: Any, name: str) -> str | None:
    """Returns a time in seconds since the epoch or, as a negative number, relative to now; None for None. `name` is the
    argument's. A number that is too great to be seconds is taken as milli-, micro- or nanoseconds, a timedelta as that
    long ago. Raises TypeError and ValueError, which say what a time is."""
    if value is None:
        return None
    if isinstance(value, str):
        return _parse_moment(str.__str__(value).strip()[:_LONGEST], name)
    if isinstance(value, datetime.datetime):
        return _write_moment(value)
    if isinstance(value, datetime.date):
        return _write_moment(datetime.datetime(value.year, value.month, value.day, tzinfo=datetime.UTC))
    if isinstance(value, datetime.timedelta):
        return f"-{_write(abs(value.total_seconds()))}"
    return _write(_to_seconds(_number(value, name, _TIMES)))


def duration(value: Any, name: str) -> str | None:
    """Returns a duration in seconds; None for None. Raises TypeError and ValueError."""
    if value is None:
        return None
    if isinstance(value, str):
        text = str.__str__(value).strip()[:_LONGEST]
        seconds = durations.parse(text)
        return _write(_parse_number(text, name, _DURATIONS) if seconds is None else seconds)
    if isinstance(value, datetime.timedelta):
        return _write(value.total_seconds())
    return _write(_number(value, name, _DURATIONS))


def _parse_moment(text: str, name: str) -> str:
    if text.lower() == "now":
        return "-0"
    span = text.replace(" ", "").removeprefix("now").removeprefix("-").removesuffix("ago")
    seconds = durations.parse(span)
    if seconds is not None:
        return f"-{_write(seconds)}"
    found = times.parse(text) if "-" in text else None
    if found is not None:
        return _write_moment(found)
    return _write(_to_seconds(_parse_number(text, name, _TIMES)))


def _parse_number(text: str, name: str, usual: str) -> float:
    try:
        return _number(float(text), name, usual)
    except ValueError:
        raise ValueError(f"{name}={text!r} is not {usual}") from None


def _number(value: Any, name: str, usual: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is {usual}, not a {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{name}={number!r} is not {usual}")
    return number


def _to_seconds(number: float) -> float:
    while number >= _MANY:
        number /= 1_000
    return number


def _write_moment(value: datetime.datetime) -> str:
    # A naive datetime is taken to be in UTC, as elsewhere in the SDK.
    aware = value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    return _write(aware.timestamp())


def _write(seconds: float) -> str:
    # A script's own class of timedelta may give any object.
    return f"{float(seconds):.3f}".rstrip("0").rstrip(".")
