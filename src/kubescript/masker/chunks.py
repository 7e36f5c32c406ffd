"""A body in pieces that can be judged on their own, as early as they are complete.

Where a piece ends depends on the bytes alone, never on how they happened to arrive: any split of a body gives the same
output. Pieces of a document end between two items of its list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.wire import loglines, masking

__all__ = ["TooLargeError", "documents", "lines", "logs"]

SOFT: Final = 128 * 1024
"""Bytes from which on a piece ends with the next item."""
LARGE: Final = 4 * 1024 * 1024
"""Bytes from which on a piece ends with the next object of any kind: no object of Kubernetes is as large."""
HARD: Final = 32 * 1024 * 1024
"""Bytes that are held back at most."""
LOG: Final = 64 * 1024
"""Bytes from which on a block of a log ends with its line."""
_ITEMS: Final = (b'},{"metadata":{', b'}},{"apiVersion":"', b'}},{"kind":"', b'},{"cells":[')
_OBJECTS: Final = (b'},"', b'},{"')
"""Where an item of a list, or any object, ends: a piece ends with the comma."""
_KEY: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./-")
"""What stands behind the mark that begins a key, and never behind one that ends a string, as in `"see {a},"`: the next
piece would count quotation marks wrongly."""
_MARK: Final = 32
"""Bytes no mark is longer than."""


class TooLargeError(ValueError):
    """A part of a body is longer than can be held."""

    def __init__(self, reason: masking.Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def documents(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of one document. Raises TooLargeError when one is longer than can be held."""
    buffer, looked = bytearray(), SOFT
    for chunk in chunks:
        buffer += chunk
        while (end := _cut(buffer, looked)) > 0:
            piece = bytes(memoryview(buffer)[:end])
            del buffer[:end]
            looked = SOFT
            yield piece
        looked = max(looked, min(len(buffer), LARGE) - _MARK) if len(buffer) < LARGE else len(buffer) - _MARK
        if len(buffer) > HARD:
            raise TooLargeError("part")
    yield bytes(buffer)


def _cut(buffer: bytearray, looked: int) -> int:
    if len(buffer) <= SOFT:
        return 0
    if looked < LARGE and 0 < (end := _first(buffer, _ITEMS, looked, LARGE + _MARK)) <= LARGE:
        return end
    return _first(buffer, _OBJECTS, max(looked, LARGE), len(buffer)) if len(buffer) > LARGE + _MARK else 0


def _first(buffer: bytearray, marks: tuple[bytes, ...], start: int, end: int) -> int:
    """Behind the comma of the mark that comes first, with a key behind it; 0 when there is none."""
    found = 0
    for mark in marks:
        at = buffer.find(mark, start, end)
        while at >= 0 and mark in _OBJECTS and not _KEY.issuperset(buffer[at + len(mark) : at + len(mark) + 1] or b" "):
            at = buffer.find(mark, at + 1, end)
        if at >= 0:
            comma = at + mark.index(b",") + 1
            found = min(found or comma, comma)
            end = min(end, at + _MARK)  # one that comes earlier begins before this one
    return found


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, as soon as they are complete, several at a time; the last may lack its end. Raises TooLargeError
    when one is longer than can be held."""
    return loglines.whole(chunks, HARD, lambda: TooLargeError("line"))


def logs(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines of a log: each ends with the first line that ends behind `LOG` bytes of it; the last may
    lack its end. Raises TooLargeError when a line is longer than can be held."""
    buffer, looked = bytearray(), LOG
    for chunk in chunks:
        buffer += chunk
        while (end := buffer.find(b"\n", looked) + 1) > 0:
            block = bytes(memoryview(buffer)[:end])
            del buffer[:end]
            looked = LOG
            yield block
        looked = max(looked, len(buffer))
        if len(buffer) > HARD:
            raise TooLargeError("line")
    if buffer:
        yield bytes(buffer)
