"""The last lines of a log, masked with those before them in sight.

A key, a block of YAML or a table is known by its first line. Whoever asks for the last three lines would see what
follows that line as any text, and could read a whole key by asking for one line more each time. So more is asked for
than a script wants, and what it did not want is dropped once it is masked.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kubescript.request import request

__all__ = ["narrowed", "widened"]

_BEFORE: Final = 256
"""Lines; a private key of 16,384 bits has about 200."""
_PIECE: Final = 256 * 1024


def widened(call: request.Request) -> request.Request:
    """The call as it is sent: of a log's end with more lines, and whole, since the asker's bytes begin later."""
    lines = _tail(call)
    if not lines:
        return call
    kept = tuple(pair for pair in call.query if pair[0] not in {"tailLines", "limitBytes"})
    return replace(call, query=(*kept, ("tailLines", str(lines + _BEFORE))))


def narrowed(call: request.Request, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The masked lines that were asked for. Holds as much as it gives."""
    lines = _tail(call)
    if not lines:
        return chunks
    return _last(chunks, lines, int(dict(call.query).get("limitBytes", 1 << 62)))


def _tail(call: request.Request) -> int:
    asked = dict(call.query).get("tailLines", "0")
    return int(asked) if call.is_resource and call.subresource == "log" else 0


def _last(chunks: Iterator[bytes], lines: int, room: int) -> Iterator[bytes]:
    kept = collections.deque(_lines(chunks), maxlen=lines)
    text = b"".join(kept)[:room]
    for start in range(0, len(text), _PIECE):
        yield text[start : start + _PIECE]


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    begun: list[bytes] = []
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line, b"\n"])
            begun = []
        begun += [rest] if rest else []
    if begun:
        yield b"".join(begun)
