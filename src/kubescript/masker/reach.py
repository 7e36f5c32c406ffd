"""Whether a probe can end within what its regex matches: a rule whose probe cannot is dead, and nobody would notice.

Both patterns become automata that allow a little more than they do: a repetition may go on for ever, an anchor or a
look-around holds anywhere. So a "no" is certain; of what is not understood here, the answer is "yes".
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

__all__ = ["meets"]

_parser: Any = importlib.import_module("re._parser")
"""Python's own reader of regular expressions. It has no public name and may change: see `meets`."""
_ALL: Final = frozenset(range(256))
_BEFORE: Final = -1
"""The place of a byte in front of the match."""
_MOST: Final = 1_000
"""Places of one pattern; more are not looked at."""
_EMPTY_WIDTH: Final = frozenset({"AT", "ASSERT", "ASSERT_NOT"})
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


class _Unknown(Exception):
    """A construct that is not understood here."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a pattern: the places it may begin and end at, and whether it may be nothing."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    empty: bool = True


@dataclass(slots=True)
class _Automaton:
    """One place for each byte a pattern names."""

    bytes: list[frozenset[int]] = field(default_factory=list)
    follow: list[set[int]] = field(default_factory=list)

    def sequence(self, items: Iterable[Any], flags: int) -> _Part:
        """What stands one after the other."""
        whole = _Part()
        for operator, argument in items:
            part = self._part(str(operator), argument, flags)
            self._join(whole.last, part.first)
            whole = _Part(
                whole.first | (part.first if whole.empty else frozenset()),
                part.last | (whole.last if part.empty else frozenset()),
                whole.empty and part.empty,
            )
        return whole

    def _join(self, ends: Iterable[int], starts: Iterable[int]) -> None:
        for end in ends:
            self.follow[end].update(starts)

    def _part(self, operator: str, argument: Any, flags: int) -> _Part:
        if operator in _EMPTY_WIDTH:
            return _Part()
        if operator in _REPEATS:
            part = self.sequence(argument[2], flags)
            self._join(part.last, part.first)
            return _Part(part.first, part.last, part.empty or argument[0] == 0)
        if operator == "SUBPATTERN":
            return self.sequence(argument[3], (flags | argument[1]) & ~argument[2])
        if operator == "ATOMIC_GROUP":
            return self.sequence(argument, flags)
        if operator == "BRANCH":
            parts = [self.sequence(items, flags) for items in argument[1]]
            first, last = (frozenset().union(*(getattr(part, end) for part in parts)) for end in ("first", "last"))
            return _Part(first, last, any(part.empty for part in parts))
        return self._place(_bytes(operator, argument, flags))

    def _place(self, allowed: frozenset[int]) -> _Part:
        place = len(self.bytes)
        if place >= _MOST:
            raise _Unknown
        self.bytes.append(allowed)
        self.follow.append(set())
        return _Part(frozenset({place}), frozenset({place}), empty=False)


def _bytes(operator: str, argument: Any, flags: int) -> frozenset[int]:
    """What one place may hold. Asked of `re`, byte by byte, where a class is more than letters."""
    if operator == "ANY":
        return _ALL
    if operator in {"LITERAL", "NOT_LITERAL"}:
        alone = _both_cases({argument}, flags)
        return alone if operator == "LITERAL" else _ALL - {argument}
    if operator != "IN":
        raise _Unknown
    found: set[int] = set()
    for kind, value in argument:
        if str(kind) == "LITERAL":
            found.add(value)
        elif str(kind) == "RANGE":
            found.update(range(value[0], value[1] + 1))
        elif str(kind) != "NEGATE":
            return _ALL  # \w, \d, \s: more than they hold, which errs on the safe side
    negated = str(argument[0][0]) == "NEGATE"
    return _ALL - found if negated else _both_cases(found, flags)


def _both_cases(found: set[int], flags: int) -> frozenset[int]:
    if not flags & re.IGNORECASE:
        return frozenset(found)
    text = bytes(sorted(found))
    return frozenset(text.lower() + text.upper())


def _read(pattern: str) -> tuple[_Automaton, _Part]:
    parsed = _parser.parse(pattern.encode())
    automaton = _Automaton()
    return automaton, automaton.sequence(parsed, parsed.state.flags)


def meets(probe: str, regex: str) -> bool:
    """Whether some text has a match of `probe` that ends within one of `regex`; true when that cannot be told."""
    try:
        (seen, whole), (match, body) = _read(probe), _read(regex)
    except Exception:  # hyperscan's syntax, or a Python that reads patterns otherwise: not ours to judge
        return True
    if whole.empty or len(seen.bytes) * len(match.bytes) > 100 * _MOST:
        return True
    places = range(len(match.bytes))
    todo = [(at, place) for at in whole.first for place in (_BEFORE, *places)]
    known: set[tuple[int, int]] = set()
    while todo:
        at, place = todo.pop()
        if (at, place) in known or (place != _BEFORE and not seen.bytes[at] & match.bytes[place]):
            continue
        known.add((at, place))
        if at in whole.last and place != _BEFORE:
            return True
        onward = (_BEFORE, *body.first) if place == _BEFORE else match.follow[place]
        todo += [(after, next_place) for after in seen.follow[at] for next_place in onward]
    return False
