"""The pieces in which a body is judged, each as soon as it is complete.

Where a piece ends depends on the bytes alone, never on how they happened to arrive: any split of a body gives the same
output. Pieces of a document end between two items.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Final

from kubescript_masking.engine.program import Ends
from kubescript_masking.wire import loglines
from kubescript_masking.wire.lists import TooLargeError

__all__ = ["SOFT", "blocks", "documents", "events", "lines"]

SOFT: Final = 128 * 1024
"""The size from which on a piece ends with the next item."""
_HARD: Final = 32 * 1024 * 1024
"""The maximum number of bytes that are held back."""
_LOG: Final = 64 * 1024
"""The size from which on a block of a log ends with its line."""


def documents(chunks: Iterator[bytes], ends: Ends = list) -> Iterator[bytes]:
    """Yields the pieces of one document. Raises TooLargeError for a piece too long to be held."""
    # Attack: a text that looks like an item's end makes a piece end within an object, which is cut off from the name
    # that makes its values secret. So the ends come from the check, which has parsed each item.
    buffer, gone = bytearray(), 0
    told: collections.deque[int] = collections.deque()  # items may have been read before their bytes arrive here
    for chunk in chunks:
        buffer += chunk
        told.extend(ends())
        while told and told[0] <= gone + len(buffer):
            end = told.popleft()
            size = end - gone
            if size >= SOFT:
                yield _take(buffer, size)
                gone = end
        if len(buffer) > _HARD:
            raise TooLargeError("part")
    yield bytes(buffer)


def blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields whole lines of a log: a block ends with the first line that ends after `_LOG` bytes; the last line may
    lack its line feed."""
    buffer, looked = bytearray(), _LOG
    for chunk in chunks:
        buffer += chunk
        while (end := buffer.find(b"\n", looked) + 1) > 0:
            yield _take(buffer, end)
            looked = _LOG
        looked = max(_LOG, len(buffer))
        if len(buffer) > _HARD:
            raise TooLargeError("line")
    yield bytes(buffer)


def _take(buffer: bytearray, size: int) -> bytes:
    """Removes the first bytes of a buffer, and returns them."""
    piece = bytes(memoryview(buffer)[:size])
    del buffer[:size]
    return piece


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields whole lines, several at a time, as soon as they are complete; the last may lack its line feed."""
    return loglines.whole(chunks, _HARD, lambda: TooLargeError("line"))


def events(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the events of a watch, each with its line feed."""
    # Split at line feeds only, as the check does: a carriage return may stand between two tokens of one event.
    for whole in lines(chunks):
        for line in whole.removesuffix(b"\n").split(b"\n"):
            yield line + b"\n"
