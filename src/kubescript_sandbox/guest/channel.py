"""The script's end of the protocol: sends prints and calls, and receives their answers.

guest/main.py creates one channel for its script, and the guest sends its calls through it. wire/protocol.py defines the
turns.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from kubescript_sandbox.guest import faults
from kubescript_sandbox.wire import framing, protocol

__all__ = ["Channel", "Exchange", "Left"]

_FLUSH_BYTES: Final = 32 * protocol.KIB
_DROPPED_FACTOR: Final = 64
"""How many times the output limit a script may print in vain before it is ended."""
_PROGRESS_CHARACTERS: Final = 200
_REPLY_TYPES: Final = frozenset({protocol.FrameType.REPLY})
_BODY_TYPES: Final = frozenset({protocol.FrameType.BODY, protocol.FrameType.END})


@dataclass(slots=True)
class Left:
    """What a script may still use."""

    # These counters are for the script's information only. The host keeps its own, and those decide.

    api_calls: int
    response_bytes: int
    output_bytes: int
    unsent: int = 0
    """Calls beyond the limit, which were refused here."""


class Channel:
    """Sends and receives one script's frames. A script cannot reach its underscore attributes; even if it could, they
    lead only to the socket."""

    _frames: framing.FrameSocket

    def __init__(self, reply: type[Any]) -> None:
        """`reply` is the type of an answer's head. Nothing can be sent before `connect`."""
        self._reply = reply
        self._left = Left(0, 0, 0)
        self._output_bytes = 0
        self._dropped = 0
        self._unsent: list[bytes] = []
        self._unsent_bytes = 0
        self._calls_sent = 0
        """The number of calls sent. The host counts them too: an answer has no number on the wire."""
        self._incoming: deque[Exchange] = deque()
        """Answers that the host still has to send, in the order of their calls."""

    @property
    def left(self) -> Left:
        """How many calls and bytes the script may still use."""
        return self._left

    def connect(self, frames: framing.FrameSocket) -> None:
        """Takes the worker's socket: the channel was made before the fork."""
        self._frames = frames

    def ready(self, ready: protocol.Ready) -> None:
        """Sends the first frame: this worker is locked down and waits for its script."""
        self._frames.send_message(protocol.FrameType.READY, ready)

    def start(self) -> protocol.Start:
        """Waits for the script."""
        expected = frozenset({protocol.FrameType.START})
        _, payload = self._frames.receive(expected)
        start = msgspec.json.decode(payload, type=protocol.Start)
        self._output_bytes = start.output_bytes
        self._left = Left(start.api_calls, start.response_bytes, start.output_bytes)
        return start

    def print(self, *values: object, sep: str = " ", end: str = "\n") -> None:
        """Queues a script's output, and drops the part beyond the output limit. Raises LimitExceeded when a script
        keeps printing."""
        text = sep.join(map(str, values)) + end
        data = text.encode("utf-8", "replace")
        # The script continues without its prints: its result is worth more.
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
            raise faults.LimitExceeded(message, "limit.output")

    def progress(self, done: float, total: float | None, text: str) -> None:
        """Reports the script's progress to the client."""
        self._flush()
        short = text[:_PROGRESS_CHARACTERS]
        progress = protocol.Progress(done, total, short)
        self._frames.send_message(protocol.FrameType.PROGRESS, progress)

    def call(self, call: Any) -> Exchange:
        """Sends one request; returns when the head of its answer has arrived. Reads earlier answers first."""
        self._take_turn()
        self._frames.send_message(protocol.FrameType.CALL, call)
        exchange = self._expect(call)
        exchange.reply  # noqa: B018 - waits for the head
        return exchange

    def batch(self, calls: Sequence[Any]) -> list[Exchange]:
        """Sends several requests, which the host makes at the same time; returns before any answer has arrived."""
        self._take_turn()
        batch = protocol.Batch(tuple(calls))
        self._frames.send_message(protocol.FrameType.BATCH, batch)
        return [self._expect(call) for call in calls]

    def finish(self, done: protocol.Done) -> None:
        """Sends the one closing frame, then waits to be killed."""
        for exchange in self._incoming:
            exchange.stop()
        self._take_turn()
        done = msgspec.structs.replace(done, dropped_bytes=self._dropped, unsent=self._left.unsent)
        self._frames.send_message(protocol.FrameType.DONE, done)
        with contextlib.suppress(protocol.ProtocolError, OSError):
            self._frames.receive(frozenset())  # the host first reads this process's usage from the kernel

    def decode_reply(self, payload: bytes) -> Any:
        """Returns the head of an answer."""
        return msgspec.json.decode(payload, type=self._reply)

    def _expect(self, call: protocol.Call) -> Exchange:
        """Counts a call that was sent, and queues its answer."""
        self._calls_sent += 1
        self._left.api_calls -= 1
        exchange = Exchange(self, self._calls_sent, streams=call.stream)
        self._incoming.append(exchange)
        return exchange

    def _more(self, stream: Exchange) -> None:
        """Requests the next piece of a stream and waits for it."""
        self._take_turn()
        more = protocol.More(stream.number)
        self._frames.send_message(protocol.FrameType.MORE, more)
        self._incoming.append(stream)
        self._advance()

    def _advance(self) -> None:
        """Receives one frame of the first outstanding answer."""
        exchange = self._incoming[0]
        allowed = _BODY_TYPES if exchange.has_reply else _REPLY_TYPES
        frame_type, payload = self._frames.receive(allowed)
        if frame_type is protocol.FrameType.BODY:
            self._left.response_bytes -= len(payload)
        is_last = exchange.receive(frame_type, payload)
        if is_last:
            self._incoming.popleft()

    def _stop(self, number: int) -> None:
        """Tells the host that the rest of an answer is not wanted."""
        stop = protocol.Stop(number)
        self._frames.send_message(protocol.FrameType.STOP, stop)

    def _take_turn(self) -> None:
        """Sends the queued output and receives all outstanding answers."""
        # The host reads the frame of a new turn only when it has sent all answers of the previous turn.
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
    """The answer to one call: its head, and the arrived parts of its body."""

    def __init__(self, channel: Channel, number: int, *, streams: bool) -> None:
        self._channel = channel
        self.number = number
        self._streams = streams
        """Whether the host sends each piece of the body only on request."""
        self._reply: Any = None
        self._buffered: deque[bytes] = deque()
        self._ended = False
        self._stopped = False
        self._fault: protocol.ScriptFault | None = None

    @property
    def has_reply(self) -> bool:
        """Whether the head has arrived."""
        return self._reply is not None

    @property
    def reply(self) -> Any:
        """The head of the answer. Waits until it has arrived."""
        while self._reply is None:
            self._channel._advance()
        return self._reply

    def chunks(self) -> Iterator[bytes]:
        """Yields the bytes of the body in order, once. Raises ProtocolFault when the answer broke off."""
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
            raise faults.ProtocolFault(self._fault)

    def stop(self) -> None:
        """Discards the rest of the body. May be called any number of times."""
        self._buffered.clear()
        if not self._ended and not self._stopped:
            self._stopped = True
            self._channel._stop(self.number)
            self._ended = self._streams  # the host closes a stream without another frame

    def receive(self, frame_type: protocol.FrameType, payload: bytes) -> bool:
        """Takes a frame of this answer; returns True when no more follow without a request."""
        if frame_type is protocol.FrameType.REPLY:
            self._reply = self._channel.decode_reply(payload)
            self._ended = self._streams and self._reply.fault is not None
            return self._streams and not self._ended
        if frame_type is protocol.FrameType.BODY:
            if not self._stopped:
                self._buffered.append(payload)
            return self._streams
        self._ended = True
        self._fault = msgspec.json.decode(payload, type=protocol.End).fault
        return True
