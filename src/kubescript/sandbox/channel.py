"""The script's end of the wire: prints, calls and their answers, in strict turns."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Final

import msgspec

from kubescript.sandbox import protocol
from kubescript.sdk import errors, transport

__all__ = ["Channel", "Exchange"]

_FLUSH_AT: Final = 32 * protocol.KIB
_PATIENCE: Final = 64
"""Times the output limit that may be printed in vain before the script is ended."""
_ANSWER: Final = frozenset({protocol.Kind.REPLY})
_BODY: Final = frozenset({protocol.Kind.BODY, protocol.Kind.END})


class Channel:
    """Frames for one script. Its underscore attributes are out of a script's reach; if they were not, they lead to the
    socket only."""

    def __init__(self, frames: protocol.FrameSocket) -> None:
        self._frames = frames
        self._output_left = 0
        self._output_bytes = 0
        self._dropped = 0
        self._pending: list[bytes] = []
        self._pending_bytes = 0
        self._open: Exchange | None = None

    def ready(self, ready: protocol.Ready) -> None:
        """The first frame: locked down, prepared, waiting."""
        self._frames.send_message(protocol.Kind.READY, ready)

    def start(self) -> protocol.Start:
        """Wait for the script."""
        _, payload = self._frames.receive(frozenset({protocol.Kind.START}))
        start = msgspec.json.decode(payload, type=protocol.Start)
        self._output_left = self._output_bytes = start.output_bytes
        return start

    def print(self, *values: object, sep: str = " ", end: str = "\n") -> None:
        """Queue what a script printed.

        Past the output limit prints are dropped and the script goes on: its result is worth more than the end of its
        chatter. A script that prints without end gets LimitExceeded.
        """
        data = (sep.join(map(str, values)) + end).encode("utf-8", "replace")
        kept = data[: self._output_left]
        self._output_left -= len(kept)
        self._dropped += len(data) - len(kept)
        self._pending.append(kept)
        self._pending_bytes += len(kept)
        if self._pending_bytes >= _FLUSH_AT:
            self._settle()
            self._flush()
        if self._dropped > _PATIENCE * self._output_bytes:
            message = (
                f"printed more than {self._output_bytes} bytes; print less, or return a summary as the last expression"
            )
            raise errors.LimitExceeded(message, "limit.output")

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Tell the client how far the script is."""
        self._settle()
        self._flush()
        self._frames.send_message(protocol.Kind.PROGRESS, protocol.Progress(done, total, text[:200]))

    def call(self, call: protocol.Call) -> Exchange:
        """Send one request; returns when the head of its answer is here. The previous answer's body is read to its end
        first."""
        self._settle()
        self._flush()
        self._frames.send_message(protocol.Kind.CALL, call)
        _, payload = self._frames.receive(_ANSWER)
        self._open = Exchange(self, msgspec.json.decode(payload, type=protocol.Reply))
        return self._open

    def finish(self, done: protocol.Done) -> None:
        """The one closing frame; then wait to be killed, so that the host can read from the kernel what this process
        used."""
        self._settle()
        self._flush()
        self._frames.send_message(protocol.Kind.DONE, msgspec.structs.replace(done, dropped_bytes=self._dropped))
        with contextlib.suppress(protocol.ProtocolError, OSError):
            self._frames.receive(frozenset())

    def _settle(self) -> None:
        """Read what is left of an open body: while the host sends one it does not listen."""
        if self._open is not None:
            self._open.drain()

    def _flush(self) -> None:
        data = b"".join(self._pending)
        self._pending, self._pending_bytes = [], 0
        cap = protocol.CAPS[protocol.Kind.PRINT]
        for start in range(0, len(data), cap):
            self._frames.send(protocol.Kind.PRINT, data[start : start + cap])


class Exchange:
    """One call's answer: its head, and its body while it arrives."""

    def __init__(self, channel: Channel, reply: protocol.Reply) -> None:
        self._channel = channel
        self.reply = reply
        self._buffered: deque[bytes] = deque()
        self._ended = False
        self._fault: protocol.ScriptFault | None = None

    def chunks(self) -> Iterator[bytes]:
        """The body's bytes in order, once. Raises ProtocolFault when the answer broke off before its end."""
        while True:
            while self._buffered:
                yield self._buffered.popleft()
            if self._ended:
                break
            self._advance()
        if self._fault is not None:
            raise transport.ProtocolFault(self._fault)

    def drain(self) -> None:
        """Read what is left of the body, so that the wire is free for the next turn."""
        while not self._ended:
            self._advance()

    def _advance(self) -> None:
        kind, payload = self._channel._frames.receive(_BODY)
        if kind is protocol.Kind.BODY:
            self._buffered.append(payload)
            return
        self._ended = True
        self._fault = msgspec.json.decode(payload, type=protocol.End).fault
