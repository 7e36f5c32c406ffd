"""The bytes of a connection that h11 has not read yet. A head or a body that costs more to read than to send is
refused."""

from __future__ import annotations

from typing import Final, Self

import h11
from h11 import _receivebuffer

__all__ = ["Received"]

# Attack: a client sends 7,900 empty headers, which are made into objects before they are counted: 19 ms per request.
_MAX_LINES: Final = 101
"""The maximum number of lines of a head."""
# Attack: a client sends chunks of one byte, each an event: 5 MB without a token kept all others waiting for 12 seconds.
_MAX_CHUNKS: Final = 256
"""How many chunks a body may have, in addition to one for each KiB."""


class Received(_receivebuffer.ReceiveBuffer):
    """A buffer of the bytes that h11 has not read, which refuses those that cost more to read than to send."""

    def __init__(self) -> None:
        super().__init__()
        self._size = 0
        """How many bytes have arrived after the last head."""
        self._chunks = 0
        self.has_long_head = False

    def __iadd__(self, data: bytes | bytearray) -> Self:
        self._size += len(data)
        super().__iadd__(data)
        return self

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Returns the lines of a head, or of the trailer after chunks; None until they have arrived completely."""
        lines = super().maybe_extract_lines()
        if lines is not None:
            self._size = len(self)
            self._chunks = 0
            self.has_long_head = len(lines) > _MAX_LINES
            if self.has_long_head:
                raise h11.RemoteProtocolError("too many headers")
        return lines

    def maybe_extract_next_line(self) -> bytearray | None:
        """Returns the line before a chunk; None until it has arrived completely."""
        line = super().maybe_extract_next_line()
        self._chunks += line is not None
        if self._chunks > _MAX_CHUNKS + self._size // 1024:
            raise h11.RemoteProtocolError("too many chunks")
        return line
