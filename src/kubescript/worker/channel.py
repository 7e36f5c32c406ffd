"""The script's end of the wire: prints, calls and their answers. protocol.py says whose turn it is."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubescript.wire import framing, protocol
from kubescript.worker.sdk import context, errors, transport

__all__ = ["Channel", "Exchange"]

_FLUSH_BYTES: Final = 32 * protocol.KIB
_DROPPED_FACTOR: Final = 64
"""Times the output limit that may be printed in vain before the script is ended."""
_PROGRESS_CHARACTERS: Final = 200
_REPLY_TYPES: Final = frozenset({protocol.FrameType.REPLY})
_BODY_TYPES: Final = frozenset({protocol.FrameType.BODY, protocol.FrameType.END})


class Channel:
    """Frames for one script. Its underscore attributes are out of a script's reach; if they were not, they lead to the
    socket only."""

    def __init__(self, frames: framing.FrameSocket) -> None:
        self._frames = frames
        self._left = context.Left(0, 0, 0)
        self._output_bytes = 0
        self._dropped = 0
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._calls_sent = 0
        """Calls sent; the host counts the same."""
        self._incoming: deque[Exchange] = deque()
        """Answers on their way, in the order in which they come."""
        self.quiet = False
        """While a call is only being prepared, nothing is printed."""

    @property
    def left(self) -> context.Left:
        """What the script may still use."""
        return self._left

    def ready(self, ready: protocol.Ready) -> None:
        """The first frame: locked down, prepared, waiting."""
        self._frames.send_message(protocol.FrameType.READY, ready)

    def start(self) -> protocol.Start:
        """Wait for the script."""
        _, payload = self._frames.receive(frozenset({protocol.FrameType.START}))
        start = msgspec.json.decode(payload, type=protocol.Start)
        self._output_bytes = start.output_bytes
        self._left = context.Left(start.api_calls, start.response_bytes, start.output_bytes)
        return start

    def print(self, *values: object, sep: str = " ", end: str = "\n") -> None:
        """Queue what a script printed.

        Past the output limit prints are dropped and the script goes on: its result is worth more than the end of its
        chatter. A script that prints without end gets LimitExceeded.
        """
        text = sep.join(map(str, values)) + end
        data = text.encode("utf-8", "replace")
        if self.quiet:
            return
        accepted = data[: self._left.output_bytes]
        self._left.output_bytes -= len(accepted)
        self._dropped += len(data) - len(accepted)
        self._unsent.append(accepted)
        self._unsent_bytes += len(accepted)
        if self._unsent_bytes >= _FLUSH_BYTES:
            self._flush()
        if self._dropped > _DROPPED_FACTOR * self._output_bytes:
            message = (
                f"printed more than {self._output_bytes} bytes; print less, or return a summary as the last expression"
            )
            raise errors.LimitExceeded(message, "limit.output")

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Tell the client how far the script is."""
        if self.quiet:
            return
        self._flush()
        progress = protocol.Progress(done, total, text[:_PROGRESS_CHARACTERS])
        self._frames.send_message(protocol.FrameType.PROGRESS, progress)

    def call(self, call: protocol.Call) -> Exchange:
        """Send one request; returns when the head of its answer is here. Earlier answers are read first."""
        self._take_turn()
        self._frames.send_message(protocol.FrameType.CALL, call)
        exchange = self._expect(call)
        exchange.reply  # noqa: B018 - read it
        return exchange

    def batch(self, calls: Sequence[protocol.Call]) -> list[Exchange]:
        """Send several requests that are made at the same time; none of their answers is here yet."""
        self._take_turn()
        batch = protocol.Batch(tuple(calls))
        self._frames.send_message(protocol.FrameType.BATCH, batch)
        return [self._expect(call) for call in calls]

    def finish(self, done: protocol.Done) -> None:
        """The one closing frame; then wait to be killed, so that the host can read from the kernel what this process
        used."""
        for exchange in self._incoming:
            exchange.stop()
        self._take_turn()
        done = msgspec.structs.replace(done, dropped_bytes=self._dropped)
        self._frames.send_message(protocol.FrameType.DONE, done)
        with contextlib.suppress(protocol.ProtocolError, OSError):
            self._frames.receive(frozenset())

    def _expect(self, call: protocol.Call) -> Exchange:
        self._calls_sent += 1
        self._left.api_calls -= 1
        exchange = Exchange(self, self._calls_sent, streams=call.stream)
        self._incoming.append(exchange)
        return exchange

    def _more(self, stream: Exchange) -> None:
        """Ask for the next piece of a stream, and wait for it."""
        self._take_turn()
        more = protocol.More(stream.number)
        self._frames.send_message(protocol.FrameType.MORE, more)
        self._incoming.append(stream)
        self._advance()

    def _advance(self) -> None:
        """Read one frame of the answer that is due."""
        exchange = self._incoming[0]
        allowed = _BODY_TYPES if exchange.has_reply else _REPLY_TYPES
        frame_type, payload = self._frames.receive(allowed)
        if frame_type is protocol.FrameType.BODY:
            self._left.response_bytes -= len(payload)
        is_last = exchange.receive(frame_type, payload)
        if is_last:
            self._incoming.popleft()

    def _stop(self, number: int) -> None:
        stop = protocol.Stop(number)
        self._frames.send_message(protocol.FrameType.STOP, stop)

    def _take_turn(self) -> None:
        """Read what is due, and say what was printed: the host hears a turn's frame only when its own is over."""
        self._flush()
        while self._incoming:
            self._advance()

    def _flush(self) -> None:
        data = b"".join(self._unsent)
        self._unsent = []
        self._unsent_bytes = 0
        cap = protocol.CAPS[protocol.FrameType.PRINT]
        for start in range(0, len(data), cap):
            piece = data[start : start + cap]
            self._frames.send(protocol.FrameType.PRINT, piece)


class Exchange:
    """One call's answer: its head, and its body while it arrives."""

    def __init__(self, channel: Channel, number: int, *, streams: bool) -> None:
        self._channel = channel
        self.number = number
        self._streams = streams
        """The body comes piece by piece, each when it is asked for."""
        self._reply: protocol.Reply | None = None
        self._buffered: deque[bytes] = deque()
        self._ended = False
        self._stopped = False
        self._fault: protocol.ScriptFault | None = None

    @property
    def has_reply(self) -> bool:
        """Whether the head is here."""
        return self._reply is not None

    @property
    def reply(self) -> protocol.Reply:
        """The head; waits for it."""
        while self._reply is None:
            self._channel._advance()
        return self._reply

    def chunks(self) -> Iterator[bytes]:
        """The body's bytes in order, once. Raises ProtocolFault when the answer broke off before its end."""
        while True:
            while self._buffered:
                yield self._buffered.popleft()
            if self._ended:
                break
            if self._streams:
                self._channel._more(self)
            else:
                self._channel._advance()
        if self._fault is not None:
            raise transport.ProtocolFault(self._fault)

    def stop(self) -> None:
        """Do without the rest of the body. Any number of times."""
        self._buffered.clear()
        if not self._ended and not self._stopped:
            self._stopped = True
            self._channel._stop(self.number)
            self._ended = self._streams

    def receive(self, frame_type: protocol.FrameType, payload: bytes) -> bool:
        """A frame of this answer; True when it is the last one for now."""
        if frame_type is protocol.FrameType.REPLY:
            self._reply = msgspec.json.decode(payload, type=protocol.Reply)
            self._ended = self._streams and self._reply.fault is not None
            return self._streams and not self._ended
        if frame_type is protocol.FrameType.BODY:
            if not self._stopped:
                self._buffered.append(payload)
            return self._streams
        self._ended = True
        self._fault = msgspec.json.decode(payload, type=protocol.End).fault
        return True
