"""The pieces in which a body is judged, as early as each is complete.

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
"""Bytes from which on a piece ends with the next item."""
_HARD: Final = 32 * 1024 * 1024
"""Bytes that are held back at most."""
_LOG: Final = 64 * 1024
"""Bytes from which on a block of a log ends with its line."""


def documents(chunks: Iterator[bytes], ends: Ends = list) -> Iterator[bytes]:
    """The pieces of one document. Attack: one that ends where a text says that an item does, within an object whose
    name for its values stands behind the cut. Raises TooLargeError when one is longer than can be held."""
    buffer, gone = bytearray(), 0
    told: collections.deque[int] = collections.deque()  # more may have been read than has come here
    for chunk in chunks:
        buffer += chunk
        told.extend(ends())
        while told and told[0] <= gone + len(buffer):
            end = told.popleft()
            if end - gone >= SOFT:
                yield _take(buffer, end - gone)
                gone = end
        if len(buffer) > _HARD:
            raise TooLargeError("part")
    yield bytes(buffer)


def blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines of a log: a block ends with the first line that ends behind `_LOG` bytes; the last may lack its
    end."""
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
    piece = bytes(memoryview(buffer)[:size])
    del buffer[:size]
    return piece


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, as soon as they are complete, several at a time; the last may lack its end."""
    return loglines.whole(chunks, _HARD, lambda: TooLargeError("line"))


def events(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the events of a watch, each with its line feed."""
    # By line feeds alone, as the check does: a carriage return may stand between two tokens of one event.
    return (line + b"\n" for whole in lines(chunks) for line in whole.removesuffix(b"\n").split(b"\n"))
