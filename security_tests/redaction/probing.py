"""Texts that a pattern of the scanner must find, made from the pattern itself; Python's `re` says where they end."""

from __future__ import annotations

import functools
import random
import re
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, Final

__all__ = ["compiled", "example"]

_FLAGS: Final = re.compile(r"(?<!\A)\(\?i\)(.*)\Z", re.DOTALL)
_ANY: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=\"' \\|,;<>()[]{}\n"
_CLASSES: Final = {
    codes.CATEGORY_WORD: b"aZ9_m", codes.CATEGORY_DIGIT: b"0579", codes.CATEGORY_SPACE: b" \t\n",
    codes.CATEGORY_NOT_SPACE: b"aZ9_./:", codes.CATEGORY_NOT_WORD: b" ./:-", codes.CATEGORY_NOT_DIGIT: b"aZ_ .",
}  # fmt: skip


@functools.cache
def compiled(pattern: str) -> re.Pattern[bytes]:
    """The pattern as Python's; flags that hyperscan takes in its middle hold for the rest."""
    return re.compile(_FLAGS.sub(r"(?i:\1)", pattern).encode(), re.DOTALL)


@functools.cache
def _parsed(pattern: str) -> Any:
    return parser.parse(_FLAGS.sub(r"(?i:\1)", pattern).encode(), re.DOTALL)


def example(pattern: str, chance: random.Random) -> bytes:
    """One text that the pattern matches, at its beginning and most likely as a whole."""
    return _sequence(_parsed(pattern), chance)


def _sequence(nodes: Any, chance: random.Random) -> bytes:
    return b"".join(_node(op, value, chance) for op, value in nodes)


def _node(op: Any, value: Any, chance: random.Random) -> bytes:
    if op is codes.LITERAL:
        return bytes([value])
    if op is codes.NOT_LITERAL:
        return _one([byte for byte in _ANY if byte != value], chance)
    if op is codes.ANY:
        return _one(_ANY, chance)
    if op is codes.IN:
        return _one(_class(value), chance)
    if op is codes.BRANCH:
        return _sequence(chance.choice(value[1]), chance)
    if op is codes.SUBPATTERN:
        inner = _sequence(value[3], chance)
        return chance.choice((bytes, bytes.upper, bytes.lower))(inner) if value[1] & re.IGNORECASE else inner
    if op in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
        least, most, inner = value
        count = min(most, least + chance.choice((0, 0, 1, 1, 1, chance.randrange(40))))
        return b"".join(_sequence(inner, chance) for _ in range(count))
    return b""  # what has no width: the caller asks Python whether it holds


def _one(choice: Any, chance: random.Random) -> bytes:
    return bytes([chance.choice(choice)])


def _class(members: Any) -> list[int]:
    found: set[int] = set()
    negated = False
    for op, value in members:
        if op is codes.NEGATE:
            negated = True
        elif op is codes.LITERAL:
            found.add(value)
        elif op is codes.RANGE:
            found.update(range(value[0], value[1] + 1))
        else:
            found.update(_CLASSES[value])
    return [byte for byte in _ANY if byte not in found] if negated else sorted(found)
