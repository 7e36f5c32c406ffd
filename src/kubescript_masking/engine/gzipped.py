"""Decompresses a body with `Content-Encoding: gzip` as it arrives.

The host passes such a body on without reading it, because the host holds the credentials and these bytes are hostile.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from isal import isal_zlib

from kubescript_masking.wire.lists import ReasonError

__all__ = ["BrokenError", "decompress"]

_GZIP: Final = 31
"""zlib's `wbits` for one gzip member, with its header and its checksum."""
# Attack: a hostile server sends a megabyte that unfolds to a gigabyte.
_PIECE: Final = 1 << 20
"""The maximum size of a piece in bytes."""


class BrokenError(ReasonError):
    """The body does not match its Content-Encoding."""


def decompress(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the body in pieces. Raises BrokenError unless it is one whole gzip member with nothing after it."""
    stream = isal_zlib.decompressobj(_GZIP)
    for chunk in chunks:
        if stream.eof and chunk:
            raise BrokenError("gzip-more")
        yield from _pieces(stream, chunk)
        # Attack: a server sends a second member, which one gzip reader reads and the next one ignores.
        if stream.unused_data:
            raise BrokenError("gzip-more")
    if not stream.eof:
        raise BrokenError("gzip-cut")


def _pieces(stream: isal_zlib.Decompress, chunk: bytes) -> Iterator[bytes]:
    is_full = True
    # After a full piece, more output may remain although all input is used up.
    while (chunk or is_full) and not stream.eof:
        try:
            piece = stream.decompress(chunk, _PIECE)
        except isal_zlib.error:  # type: ignore[misc]  # published as a value
            raise BrokenError("gzip-bad") from None
        chunk = stream.unconsumed_tail
        is_full = len(piece) == _PIECE
        if piece:
            yield piece
