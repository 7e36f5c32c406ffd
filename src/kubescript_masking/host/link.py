"""The host's end of a masker's socket."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from kubescript_masking.wire import masking
from kubescript_sandbox.wire import protocol

__all__ = ["Check", "Link"]

Check = Callable[[], None]
"""Called repeatedly while a masker works; raises when no caller waits for its answer any more."""
_CHECK_MS: Final = 20
"""How many milliseconds pass between two checks."""
# Attack: a masker announces a length of 4 GiB, which the host would allocate at once.
_BLOCK: Final = 256 * protocol.KIB
"""How many bytes are read at once, whatever length a masker announces."""


class Link:
    """The host's end of the socket. It never blocks beyond a check, and reads no more than was asked for."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        sock.setblocking(False)
        self._unsent: deque[memoryview] = deque()
        self._held = b""
        """The bytes that were read but have not been requested yet."""
        self._poller = select.poll()

    def send(self, order: masking.Order, payload: bytes | memoryview) -> None:
        """Queues one frame, and sends as much of the queue as the socket takes now. Raises OSError."""
        head = masking.HEADER.pack(len(payload), order)
        frame = b"".join((head, payload))
        self._unsent.append(memoryview(frame))
        self._flush()

    @property
    def has_input(self) -> bool:
        """Whether something can be read now."""
        if self._held:
            return True
        return self._poll(select.POLLIN, 0) != 0

    def head(self, check: Check) -> tuple[masking.Answer, bytes, int]:
        """Reads the next answer's type and notes, and how many bytes follow. Raises ProtocolError, StreamClosed and
        what `check` raises."""
        number, notes, size = masking.ANSWER.unpack(self._exactly(masking.ANSWER.size, check))
        try:
            answer = masking.Answer(number)
        except ValueError:
            raise protocol.ProtocolError(f"unknown answer {number}") from None
        # Attack: a masker announces a length of 4 GiB, which the host would allocate.
        if notes > masking.MAX_NOTES:
            raise protocol.ProtocolError(f"notes of {notes} bytes")
        return answer, self._exactly(notes, check), size

    def blocks(self, size: int, check: Check) -> Iterator[bytes]:
        """Yields the next `size` bytes as they arrive. Raises StreamClosed and what `check` raises."""
        while size:
            block = self._held or self._receive(check)
            block, self._held = block[:size], block[size:]
            size -= len(block)
            yield block

    def _exactly(self, size: int, check: Check) -> bytes:
        """Returns the next `size` bytes, which are few. Raises StreamClosed and what `check` raises."""
        while len(self._held) < size:
            more = self._receive(check)
            self._held += more
        data = self._held[:size]
        self._held = self._held[size:]
        return data

    def _receive(self, check: Check) -> bytes:
        """Waits until there is something to read, and sends the queue while waiting."""
        while True:
            check()
            wanted = select.POLLIN | select.POLLOUT if self._unsent else select.POLLIN
            events = self._poll(wanted, _CHECK_MS)
            if events & select.POLLOUT:
                self._flush()
            if not events & ~select.POLLOUT:
                continue
            try:
                data = self._sock.recv(_BLOCK)
            except BlockingIOError:  # readable, but nothing to read
                continue
            if not data:
                raise protocol.StreamClosed("the masker has ended")
            return data

    def _poll(self, wanted: int, timeout_ms: int) -> int:
        """Returns the poll events that occur within the timeout."""
        self._poller.register(self._sock, wanted)
        events = self._poller.poll(timeout_ms)
        return sum(event for _, event in events)

    def _flush(self) -> None:
        while self._unsent:
            try:
                sent = self._sock.send(self._unsent[0])
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):  # the masker's reason for ending can still be read
                self._unsent.clear()
                return
            left = self._unsent.popleft()[sent:]
            if left:
                self._unsent.appendleft(left)
