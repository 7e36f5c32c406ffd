"""The arguments of an operation: read from a script's text, and checked by type.

A name or a value that is not on the list is refused; nothing of a script reaches a source in another place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from kubescript import errors
from kubescript.sources import expressions

__all__ = ["MOMENTS", "read"]

_MAX_ARGUMENTS: Final = 40
_MAX_TEXT: Final = 2_000
_LABEL: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:.]{0,199}")
_ID: Final = re.compile(r"[0-9A-Fa-f]{1,32}")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
# Prometheus cuts a step to milliseconds, so 0.0019 would give twice the points that are counted.
_NUMBER: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,3})?")
_LEAST_STEP_S: Final = 0.001

_Reader = Callable[[str, float], str]
"""Returns an argument, checked; it is given the source's time in seconds since the epoch. Raises RequestError."""


def _matching(pattern: re.Pattern[str], what: str) -> _Reader:
    def read(text: str, _now: float) -> str:
        if not pattern.fullmatch(text):
            raise errors.RequestError(f"{text[:40]!r} is no {what}", code="request.source")
        return text

    return read


def _choice(*words: str) -> _Reader:
    return _matching(re.compile("|".join(words)), f"one of {', '.join(words)}")


def _text(text: str, _now: float) -> str:
    if len(text) > _MAX_TEXT or not text.isprintable():
        raise errors.RequestError(f"write a text of at most {_MAX_TEXT} printable characters", code="request.source")
    return text


def _moment(text: str, now: float) -> str:
    """Returns a time in seconds since the epoch; a negative one is relative to now."""
    seconds = float(_number(text, now))
    return str(max(0.0, now + seconds)) if text.startswith("-") else text


def _step(text: str, now: float) -> str:
    if float(_number(text, now)) < _LEAST_STEP_S:
        raise errors.RequestError("a step is at least a millisecond", code="request.source")
    return text


def _expression(text: str, _now: float) -> str:
    expressions.check_length(text)
    return text


_number: Final = _matching(_NUMBER, "number of seconds")
_TYPES: Final[Mapping[str, _Reader]] = {
    "query": _expression,
    "match": _expression,
    "q": _expression,
    "filter": _text,
    "receiver": _text,
    "time": _moment,
    "start": _moment,
    "end": _moment,
    "step": _step,
    "limit": _matching(re.compile(r"[1-9][0-9]{0,6}"), "number of at least 1"),
    "direction": _choice("forward", "backward"),
    "type": _choice("alert", "record"),
    "state": _choice("active", "dropped", "any"),
    "active": _choice("true", "false"),
    "silenced": _choice("true", "false"),
    "inhibited": _choice("true", "false"),
    "unprocessed": _choice("true", "false"),
    "label": _matching(_LABEL, "name of a label"),
    "metric": _matching(_LABEL, "name of a metric"),
    "id": _matching(_ID, "trace id in hexadecimal"),
    "namespace": _matching(_NAMESPACE, "name of a namespace"),
}
"""The arguments of all operations, by name."""
MOMENTS: Final = frozenset({"time", "start", "end"})
"""Those that are times."""
_REPEATED: Final = frozenset({"match", "filter"})


def read(given: tuple[tuple[str, str], ...], known: frozenset[str], now: float) -> dict[str, list[str]]:
    """Returns the arguments by name, with times in seconds since the epoch. Raises RequestError."""
    if len(given) > _MAX_ARGUMENTS:
        raise errors.RequestError(f"more than {_MAX_ARGUMENTS} arguments", code="request.source")
    found: dict[str, list[str]] = {}
    for name, text in given:
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise errors.RequestError(f"no argument {name[:40]!r}; there are {names}", code="request.source")
        if name in found and name not in _REPEATED:
            raise errors.RequestError(f"{name} is given twice", code="request.source")
        found.setdefault(name, []).append(_TYPES[name](text, now))
    return found
