"""Texts that a pattern of the scanner must find, made from the pattern itself; Python's `re` says where they end."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Iterable
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


def example(pattern: str, chance: random.Random) -> bytes:
    """One text that the pattern matches, at its beginning and most likely as a whole."""
    return _writer(pattern)(chance)


Writer = Callable[[random.Random], bytes]
"""Writes one text of a part of a pattern."""


@functools.cache
def _writer(pattern: str) -> Writer:
    """Made once for each pattern: of hundreds of patterns hundreds of texts are wanted."""
    return _sequence(parser.parse(_FLAGS.sub(r"(?i:\1)", pattern).encode(), re.DOTALL))


def _sequence(nodes: Any) -> Writer:
    writers = [_node(op, value) for op, value in nodes]
    if len(writers) == 1:
        return writers[0]
    return lambda chance: b"".join([write(chance) for write in writers])


def _node(op: Any, value: Any) -> Writer:
    if op is codes.LITERAL:
        text = bytes([value])
        return lambda chance: text
    if op is codes.NOT_LITERAL:
        return _one(byte for byte in _ANY if byte != value)
    if op is codes.ANY:
        return _one(_ANY)
    if op is codes.IN:
        return _one(_class(value))
    if op is codes.BRANCH:
        branches = [_sequence(branch) for branch in value[1]]
        return lambda chance: chance.choice(branches)(chance)
    if op is codes.SUBPATTERN:
        return _group(_sequence(value[3]), ignore_case=bool(value[1] & re.IGNORECASE))
    if op in {codes.MAX_REPEAT, codes.MIN_REPEAT}:
        return _repeat(*value)
    return lambda chance: b""  # what has no width: the caller asks Python whether it holds


def _group(inner: Writer, *, ignore_case: bool) -> Writer:
    if not ignore_case:
        return inner
    return lambda chance: chance.choice((bytes, bytes.upper, bytes.lower))(inner(chance))


def _repeat(least: int, most: int, inner: Any) -> Writer:
    write = _sequence(inner)

    def repeat(chance: random.Random) -> bytes:
        more = int(chance.random() * 6)
        count = least + (more > 1) if more < 5 else least + int(chance.random() * 40)
        return b"".join([write(chance) for _ in range(min(most, count))])

    return repeat


def _one(choice: Iterable[int]) -> Writer:
    texts = [bytes([byte]) for byte in choice]
    size = len(texts)
    return lambda chance: texts[int(chance.random() * size)]


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
