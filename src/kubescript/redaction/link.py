"""The host's end of the socket to one masker: it never blocks beyond a check, and reads no more than it asked for."""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.wire import masking, protocol

__all__ = ["Check", "Link"]

Check = Callable[[], None]
"""Asked again and again while a masker works; raises when nobody waits for its answer any more."""
_CHECK_MS: Final = 20
"""Milliseconds between two checks."""
_BLOCK: Final = 256 * protocol.KIB
"""Bytes that are read at once, whatever length a masker has announced."""


class Link:
    """Sends orders and reads answers. One thread at a time uses it."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        sock.setblocking(False)
        self._unsent: deque[memoryview] = deque()
        self._held = b""
        """What was read and not asked for yet."""
        self._poller = select.poll()
        self._poller.register(sock, select.POLLIN)
        self._polls_for_writing = False

    def send(self, order: masking.Order, payload: bytes | memoryview) -> None:
        """Queue one frame, and send as much of what is queued as the socket takes now. Raises OSError."""
        self._unsent.append(memoryview(masking.HEADER.pack(len(payload), order)))
        self._unsent.append(memoryview(payload))
        self._flush()

    @property
    def has_input(self) -> bool:
        """Whether something can be read at this moment."""
        if self._held:
            return True
        return any(event & ~select.POLLOUT for _, event in self._poller.poll(0))

    def head(self, check: Check) -> tuple[masking.Answer, bytes, int]:
        """Read the type and the notes of the next answer, and how many bytes follow. Raises ProtocolError, StreamClosed
        and what `check` raises."""
        number, notes, size = masking.ANSWER.unpack(self._exactly(masking.ANSWER.size, check))
        try:
            answer = masking.Answer(number)
        except ValueError:
            raise protocol.ProtocolError(f"unknown answer {number}") from None
        # Attack: a length of 4 GiB, which the host would allocate.
        if notes > masking.MAX_NOTES:
            raise protocol.ProtocolError(f"notes of {notes} bytes")
        return answer, self._exactly(notes, check), size

    def blocks(self, size: int, check: Check) -> Iterator[bytes]:
        """Yield the next `size` bytes as they come. Raises StreamClosed and what `check` raises,
        which is asked for each block."""
        while size:
            check()
            block = self._some(size, check)
            size -= len(block)
            yield block

    def _exactly(self, size: int, check: Check) -> bytes:
        if len(self._held) >= size:
            data, self._held = self._held[:size], self._held[size:]
            return data
        return b"".join(self.blocks(size, check))

    def _some(self, most: int, check: Check) -> bytes:
        while not self._held:
            self._wait(check)
            try:
                self._held = self._sock.recv(_BLOCK)
            except BlockingIOError:  # readable, and yet nothing to read
                check()
                continue
            if not self._held:
                raise protocol.StreamClosed("the masker has ended")
        if len(self._held) <= most:
            data, self._held = self._held, b""
        else:
            data, self._held = self._held[:most], self._held[most:]
        return data

    def _wait(self, check: Check) -> None:
        """Wait until there is something to read; send meanwhile what is queued."""
        while True:
            self._watch_for_writing(bool(self._unsent))
            events = self._poller.poll(_CHECK_MS)
            if not events:
                check()
                continue
            event = events[0][1]
            if event & select.POLLOUT:
                self._flush()
            if event & ~select.POLLOUT:
                return

    def _watch_for_writing(self, wanted: bool) -> None:
        if wanted != self._polls_for_writing:
            self._polls_for_writing = wanted
            self._poller.modify(self._sock, select.POLLIN | (select.POLLOUT if wanted else 0))

    def _flush(self) -> None:
        while self._unsent:
            try:
                sent = self._sock.sendmsg([*self._unsent][:16])
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):  # why it has ended can still be read
                self._unsent.clear()
                return
            while self._unsent and sent >= len(self._unsent[0]):
                sent -= len(self._unsent.popleft())
            if sent:
                self._unsent[0] = self._unsent[0][sent:]
