"""JSON of any depth, read as if nothing were below its first levels. The hub's objects have fields of any content."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["read"]

_MAX_LEVELS: Final = 64
"""Levels of lists and objects. What is read of an object is in the first ten."""
_BRACKET: Final = re.compile(
    rb"""(?:[^][{}"]++|"(?:[^"\\]++|\\.)*+"?|\[[^][{}"]*+]|{[^][{}"]*+})*+([][{}]|\Z)""", re.DOTALL
)
"""The next bracket, behind strings and behind lists and objects of plain values. It fits anywhere and never goes back,
so the time is linear in broken JSON too: at most 0.2 s a MiB."""
_STEPS: Final = {b"[": 1, b"{": 1, b"]": -1, b"}": -1, b"": 0}
_T = TypeVar("_T")


def read(content: bytes, decode: Callable[[bytes], _T]) -> _T:
    """Returns what `decode` makes of JSON; of JSON that is too deep for it, what it makes of the first levels."""
    # Attack: an API server takes objects of 10,000 levels, and msgspec reads 1,000, of fields that it skips as well.
    try:
        return decode(content)
    except RecursionError:
        return decode(_cut(content))


def _cut(content: bytes) -> bytes:
    """Returns JSON with null in place of lists and objects below the first levels."""
    kept = bytearray()
    level = start = 0
    for token in _BRACKET.finditer(content):
        end = token.end()
        step = _STEPS[token[1]]
        level += step
        if step == 1 and level == _MAX_LEVELS + 1:
            kept += content[start : end - 1] + b"null"
        elif step == -1 and level == _MAX_LEVELS:
            start = end
    return bytes(kept + content[start:])
