"""Times and durations as scripts send them: seconds since the epoch, or relative to now, such as "-1h"."""

from __future__ import annotations

import re
from typing import Final

from kubescript import errors
from kubescript.kube import durations

__all__ = ["duration", "moment"]

_SECONDS: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")
_RELATIVE: Final = re.compile(r"(?:now)?-([0-9a-z.]{1,24})")


def moment(text: str, now: float) -> float:
    """Returns a time in seconds since the epoch. Raises RequestError."""
    if text == "now":
        return now
    if _SECONDS.fullmatch(text):
        return float(text)
    relative = _RELATIVE.fullmatch(text)
    if relative is None:
        raise _refuse(f"{text[:40]!r} is no time", 'a datetime, ISO text, seconds since 1970, or "-1h"')
    return max(0.0, now - duration(relative[1]))


def duration(text: str) -> float:
    """Returns a duration, `90`, `5m` or `1h30m`, in seconds. Raises RequestError."""
    if _SECONDS.fullmatch(text):
        return float(text)
    seconds = durations.parse(text)
    if seconds is None:
        raise _refuse(f"{text[:40]!r} is no duration", '"30s", "5m", "1h30m", or a number of seconds')
    return seconds


def _refuse(what: str, instead: str) -> errors.RequestError:
    return errors.RequestError(f"{what}; write {instead}", code="request.source")
