"""Whole bodies, for the host's own small questions: what scripts ask for is never held."""

from __future__ import annotations

from collections.abc import Iterable

from kubescript import errors

__all__ = ["read_whole"]


def read_whole(chunks: Iterable[bytes], most: int, too_large: errors.KubescriptError) -> bytes:
    """Returns a body. Raises what `chunks` raise, and `too_large` for more than `most` bytes."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > most:
            raise too_large
    return bytes(body)
