"""The last lines of a log, masked together with the lines before them. Called by the broker.

Redaction recognizes a key, a block of YAML or a table by its first line. Attack: a script asks for the last three lines
of a log, where the key's first line is missing, and reads a whole key by asking for one more line each time. The broker
therefore asks for more lines than the script wants, masks them all, and drops those that the script did not ask for.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kubescript.request import request

__all__ = ["narrowed", "widened"]

# Lines before those that were asked for. A private key of 16,384 bits has about 200.
_BEFORE: Final = 256
_PIECE: Final = 256 * 1024


def widened(call: request.Request) -> request.Request:
    """Returns the call as it is sent: a request for the last lines of a log asks for more lines."""
    lines = _tail(call)
    if not lines:
        return call
    # `limitBytes` is left out: the API server would count from the first of the added lines. `narrowed` applies it.
    kept = tuple(pair for pair in call.query if pair[0] not in {"tailLines", "limitBytes"})
    return replace(call, query=(*kept, ("tailLines", str(lines + _BEFORE))))


def narrowed(call: request.Request, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the masked lines that were asked for. Holds no more in memory than it yields."""
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
