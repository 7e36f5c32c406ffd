"""Provides `age(pod)`: the time since an object was created, as a timedelta that prints as kubectl prints ages.

Scripts call it as a global; table.py uses it for the column "age".
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final, cast

from kubescript.guest.sdk.values import timestamps

__all__ = ["Age", "age"]

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# The steps are those of kubectl (HumanDuration), so that an age looks the same in both.
_STEPS: Final = (
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (2 * _DAY, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
)
"""Each step: the upper limit in seconds, the unit, and the unit of the remainder."""


class Age(datetime.timedelta):
    """A timedelta whose text is `3d4h`. An unknown age is zero, false, and prints as kubectl's `<unknown>`."""

    __slots__ = ("_known",)
    _known: bool

    @classmethod
    def of(cls, span: datetime.timedelta, *, known: bool = True) -> Age:
        """Returns an age for a timedelta."""
        made = cls(span.days, span.seconds, span.microseconds)
        made._known = known
        return made

    def __str__(self) -> str:
        return _text(self.total_seconds()) if getattr(self, "_known", True) else "<unknown>"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, other: Any) -> Any:
        return _wrap(datetime.timedelta.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        # sum() starts with the int 0.
        if type(other) is int and other == 0:
            return self
        return _wrap(datetime.timedelta.__radd__(self, other))

    def __sub__(self, other: Any) -> Any:
        return _wrap(datetime.timedelta.__sub__(self, other))

    def __rsub__(self, other: Any) -> Any:
        return _wrap(datetime.timedelta.__rsub__(self, other))

    def __mul__(self, other: Any) -> Any:
        return _wrap(datetime.timedelta.__mul__(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return _wrap(datetime.timedelta.__truediv__(self, other))

    def __neg__(self) -> Age:
        return Age.of(datetime.timedelta.__neg__(self))

    def __abs__(self) -> Age:
        return Age.of(datetime.timedelta.__abs__(self))


def _wrap(result: Any) -> Any:
    """Returns a timedelta as an age, and a number or NotImplemented unchanged."""
    if isinstance(result, datetime.timedelta):
        return Age.of(result)
    return result


def age(value: Any) -> Age:
    """The time since an object was made, or since a time; it prints like 3d4h.

    age(pod), age(pod.status.start_time), age("2026-01-02T03:04:05Z"). It compares with and adds to
    timedeltas. A time in the future gives a negative age; None gives an unknown age, which is zero.
    """
    moment = value if isinstance(value, str | datetime.date | datetime.timedelta) else _find_creation_time(value)
    if moment is None or moment == "":
        return Age.of(datetime.timedelta(), known=False)
    if isinstance(moment, Age):
        return moment
    if isinstance(moment, datetime.timedelta):
        return Age.of(moment)
    now = datetime.datetime.now(datetime.UTC)
    return Age.of(now - _moment(moment))


def _find_creation_time(value: Any) -> Any:
    """Returns the creation time of a view, of plain JSON, or of the metadata alone."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"age() takes an object, a datetime or ISO text, not a {type(value).__name__}")
    own = value.get("metadata", value)
    for key in ("creationTimestamp", "creation_timestamp"):
        if isinstance(own, Mapping) and key in own:
            return own[key]
    raise ValueError("age(): this has no metadata.creationTimestamp; pass a time, such as age(pod.status.start_time)")


def _moment(value: str | datetime.date) -> datetime.datetime:
    if isinstance(value, str):
        return _parse(value)
    moment = value
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time())
    # A naive datetime is taken as UTC, as in timestamps.py.
    if moment.tzinfo is None:
        return moment.replace(tzinfo=datetime.UTC)
    return moment


def _parse(text: str) -> datetime.datetime:
    stripped = text.strip()
    moment = timestamps.parse_time(stripped)
    # parse_time returns a string that is not a timestamp unchanged.
    if moment == stripped:
        raise ValueError(f"age(): {text[:60]!r} is no time; one is 2026-01-02T03:04:05Z")
    return cast("datetime.datetime", moment)


def _text(seconds: float) -> str:
    """Returns an age as kubectl writes it."""
    # A clock that is slightly behind must not give `-0s`.
    sign = "-" if seconds <= -1 else ""
    left = int(-seconds) if sign else int(max(seconds, 0))
    for below, (size, unit), rest in _STEPS:
        if left >= below:
            continue
        text = f"{sign}{left // size}{unit}"
        if rest is None:
            return text
        rest_size, rest_unit = rest
        more = left % size // rest_size
        return f"{text}{more}{rest_unit}" if more else text
    return f"{sign}{left // _YEAR}y"
