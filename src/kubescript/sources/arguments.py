"""The arguments of an operation: read from a script's text, checked by type, and written as the source takes them.

A name or a value that is not on the list is refused; nothing of a script reaches a source in another place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kubescript import errors
from kubescript.sources import expressions, moments

__all__ = ["TYPES", "Clock", "Unit", "read"]

Unit = Callable[[float], str]
"""Writes a time in seconds as a source takes it."""
_MAX_ARGUMENTS: Final = 40
_MAX_TEXT: Final = 2_000
_LABEL: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:.]{0,199}")
_ID: Final = re.compile(r"[0-9A-Fa-f]{1,32}")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Clock:
    """The time of one call, and how its source writes times."""

    now: float
    """Seconds since the epoch."""
    write: Unit


Reader = Callable[[str, Clock], str]
"""Returns an argument as the source takes it. Raises RequestError."""


def _matching(pattern: re.Pattern[str], what: str) -> Reader:
    def read(text: str, _clock: Clock) -> str:
        if not pattern.fullmatch(text):
            raise errors.RequestError(f"{text[:40]!r} is no {what}", code="request.source")
        return text

    return read


def _choice(*words: str) -> Reader:
    return _matching(re.compile("|".join(words)), f"one of {', '.join(words)}")


def _text(text: str, _clock: Clock) -> str:
    if len(text) > _MAX_TEXT or not text.isprintable():
        raise errors.RequestError(f"write a text of at most {_MAX_TEXT} printable characters", code="request.source")
    return text


def _moment(text: str, clock: Clock) -> str:
    return clock.write(moments.moment(text, clock.now))


def _step(text: str, _clock: Clock) -> str:
    seconds = moments.duration(text)
    if seconds < 0.001:
        raise errors.RequestError("a step is at least a millisecond", code="request.source")
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def _expression(text: str, _clock: Clock) -> str:
    expressions.check_length(text)
    return text


TYPES: Final[Mapping[str, Reader]] = {
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
_REPEATED: Final = frozenset({"match", "filter"})


def read(given: tuple[tuple[str, str], ...], known: frozenset[str], clock: Clock) -> dict[str, list[str]]:
    """Returns the arguments by name, each as the source takes it. Raises RequestError."""
    if len(given) > _MAX_ARGUMENTS:
        raise errors.RequestError(f"more than {_MAX_ARGUMENTS} arguments", code="request.source")
    found: dict[str, list[str]] = {}
    for name, text in given:
        if name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise errors.RequestError(f"no argument {name[:40]!r}; there are {names}", code="request.source")
        if name in found and name not in _REPEATED:
            raise errors.RequestError(f"{name} is given twice", code="request.source")
        found.setdefault(name, []).append(TYPES[name](text, clock))
    return found
