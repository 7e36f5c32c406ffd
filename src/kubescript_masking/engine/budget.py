"""How many candidates of a body are judged. Attack: an attacker writes a text with more candidates, to keep maskers
busy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ["Budget", "affordable", "blocks"]

# Judging one candidate takes about 50 µs.
_MANY: Final = 2_000
"""How many candidates any body may have, however short."""
_MOST: Final = 8_000
"""How many candidates a body may save up."""
# Ordinary text has fewer candidates.
_SPARSE: Final = 128
"""How many bytes pay for one more candidate."""
_BLOCK: Final = 4_096
"""How many bytes of a dense text are judged, or masked as a whole, at a time."""


class Budget:
    """How many candidates a body may still have; its bytes pay for them."""

    def __init__(self) -> None:
        self._bytes = _MANY * _SPARSE

    @property
    def left(self) -> int:
        """How many candidates the body can pay for."""
        return self._bytes // _SPARSE

    def credit(self, size: int) -> None:
        """Adds bytes of the body that have arrived."""
        most = _MOST * _SPARSE
        saved = self._bytes + size
        self._bytes = min(most, saved)

    def withdraw(self, size: int) -> None:
        """Deducts bytes that were masked as a whole, so that they pay for nothing."""
        # Attack: an attacker floods a log. When parts masked as a whole earned candidates, a megabyte cost 3 s, not
        # 0.7.
        self._bytes = max(0, self._bytes - size)

    def spend(self, count: int) -> None:
        """Deducts candidates that are judged."""
        self._bytes -= count * _SPARSE


def affordable(block: bytes) -> int:
    """Returns how many candidates a block of a dense text may have."""
    return len(block) // _SPARSE


def blocks(text: bytes) -> Iterator[bytes]:
    """Yields the text in pieces of about `_BLOCK` bytes, which end with a line, or with a word of a longer line."""
    place = 0
    while place < len(text):
        end = _find_cut(text, place)
        yield text[place:end]
        place = end


def _find_cut(text: bytes, place: int) -> int:
    """Returns where the block that begins here ends."""
    limit = place + _BLOCK
    if limit >= len(text):
        return len(text)
    line_end = text.rfind(b"\n", place, limit)
    cut = line_end if line_end > 0 else text.rfind(b" ", place, limit)
    return cut + 1 if cut > place else limit
