"""How many candidates of one body are judged: text that has more for its length is written to keep us busy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ["Budget", "affordable", "blocks"]

_MANY: Final = 2_000
"""Candidates that a body may have however short it is; judging one costs some 50 µs."""
_MOST: Final = 8_000
"""Candidates that it may save up."""
_SPARSE: Final = 128
"""Bytes of it for each further one: text that has more is written to keep us busy."""
_BLOCK: Final = 4_096
"""Bytes of such a text that are judged, or masked as a whole, at a time."""


class Budget:
    """How many candidates a body may still have: so many of its bytes pay for one."""

    def __init__(self) -> None:
        self._bytes = _MANY * _SPARSE

    @property
    def left(self) -> int:
        """Those that it can pay for."""
        return self._bytes // _SPARSE

    def credit(self, size: int) -> None:
        """So many more bytes of the body have come."""
        self._bytes = min(_MOST * _SPARSE, self._bytes + size)

    def withdraw(self, size: int) -> None:
        """So many of its bytes were masked as a whole, and pay for nothing."""
        # Attack: floods in logs: with what went as a whole earning further candidates a megabyte cost 3 s, not 0.7.
        self._bytes = max(0, self._bytes - size)

    def spend(self, count: int) -> None:
        """So many are judged."""
        self._bytes -= count * _SPARSE


def affordable(block: bytes) -> int:
    """How many candidates a block of a dense text may have."""
    return len(block) // _SPARSE


def blocks(text: bytes) -> Iterator[bytes]:
    """The text in pieces of about `_BLOCK` bytes, which end with a line, or with a word of a line that is longer."""
    place = 0
    while place < len(text):
        end = len(text)
        if place + _BLOCK < end:
            cut = max(text.rfind(b"\n", place, place + _BLOCK), 0) or max(text.rfind(b" ", place, place + _BLOCK), 0)
            end = cut + 1 if cut > place else place + _BLOCK
        yield text[place:end]
        place = end
