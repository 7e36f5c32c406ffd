"""The host's replies to a worker's calls: one, several at a time, or a stream piece by piece. Used by `conversation`.

`call_limits` counts calls and streams. A worker may give up an answer at any time (STOP); the host then ends the
request to the cluster too.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from kubescript_sandbox import errors, runs
from kubescript_sandbox.host import batch, call_limits, guests
from kubescript_sandbox.host.batch import Body
from kubescript_sandbox.wire import framing, protocol

__all__ = ["OnCall", "Replies"]

OnCall = Callable[[Any, float], tuple[protocol.Reply, Body | None]]
"""Answers one call within this many seconds, with the head and any body. It never raises. Several threads call it at
once."""

_BODY_CAP: Final = protocol.CAPS[protocol.FrameType.BODY]


class Replies:
    """The answers to one script's calls, sent one at a time."""

    def __init__(
        self,
        on_call: OnCall,
        on_refused: Callable[[str], None],
        guest: guests.Guest,
        limits: runs.Limits,
        frames: framing.FrameSocket,
        deadline: float,
        hear: framing.OnFrame,
        end_calls: Callable[[], None],
    ) -> None:
        self._on_call = on_call
        self._guest = guest
        self.limits = call_limits.CallLimits(limits, on_refused)
        self._frames = frames
        self._hear = hear
        """Takes a frame that the worker sends while an answer is on its way."""
        self._deadline = deadline
        """When the script must end, on the `time.monotonic` clock."""
        self._end_calls = end_calls
        """Aborts the running calls when the script is over and nobody waits for their answers."""
        self._unwanted: set[int] = set()
        self._streams: dict[int, _Stream] = {}

    def one(self, call: protocol.Call) -> None:
        """Answers one call; for a stream, sends only the head."""
        refused = self._count(call)
        if refused is None:
            reply, response = self._on_call(call, self._seconds_left())
        else:
            reply, response = refused, None
        self.limits.keep(reply.fault)
        if response is None:
            self._send(self.limits.calls, reply, iter(()))
        elif call.stream:
            self._streams[self.limits.calls] = _Stream(response)
            self._frames.send_message(protocol.FrameType.REPLY, reply, self._hear)
        else:
            with contextlib.closing(response):
                self._send(self.limits.calls, reply, response.chunks, response.close)

    def several(self, calls: tuple[protocol.Call, ...]) -> None:
        """Answers, in order, calls that are made at the same time."""
        if any(call.stream for call in calls):
            raise protocol.ProtocolError("a stream in a BATCH")
        first = self.limits.calls + 1
        refused = [self._count(call) for call in calls]

        def fetch(index: int) -> tuple[protocol.Reply, Body | None]:
            reply = refused[index]
            if reply is not None:
                return reply, None
            return self._in_time(calls[index])

        with contextlib.closing(batch.Batch(fetch, len(calls), self._guest.refuse)) as under_way:
            answers = under_way.answers(self._listen)
            try:
                for number, answer in enumerate(answers, first):
                    self.limits.keep(answer.reply.fault)
                    self._send(number, answer.reply, answer.chunks(), answer.close)
            except BaseException:
                self._end_calls()
                raise

    def more(self, number: int) -> None:
        """Sends the next piece of a stream, or its end."""
        if number not in self._streams:
            raise protocol.ProtocolError("MORE of no open stream")
        stream = self._streams[number]
        fault = None
        try:
            piece = stream.piece()
        except errors.CodedError as error:
            piece, fault = b"", self._fault(error)
        if piece and fault is None:
            self._frames.send(protocol.FrameType.BODY, piece, self._hear)
        else:
            self._streams.pop(number, stream).close()  # STOP may have removed it already
            self._frames.send_message(protocol.FrameType.END, protocol.End(fault), self._hear)

    def stop(self, number: int) -> None:
        """Gives up the rest of an answer, which may have ended already. A worker may ask once for each answer."""
        is_answer = 0 < number <= self.limits.calls
        if number in self._unwanted or not is_answer:
            raise protocol.ProtocolError("STOP of an answer that is none")
        self._unwanted.add(number)
        stream = self._streams.pop(number, None)
        if stream is not None:
            stream.close()

    def close(self) -> None:
        """Ends the streams that were left open."""
        while self._streams:
            _, stream = self._streams.popitem()
            stream.close()

    def _send(
        self,
        number: int,
        reply: protocol.Reply,
        chunks: Iterator[bytes],
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """Sends an answer's head, body and end."""
        self._frames.send_message(protocol.FrameType.REPLY, reply, self._hear)
        fault = self._pass_on(number, chunks)
        # The body is closed before END is sent, because its record must be written by then.
        close()
        self._frames.send_message(protocol.FrameType.END, protocol.End(fault), self._hear)

    def _pass_on(self, number: int, chunks: Iterator[bytes]) -> protocol.ScriptFault | None:
        """Sends the body as it arrives; returns the fault if the body breaks off, so that it never looks whole."""
        while number not in self._unwanted:
            try:
                chunk = next(chunks, None)
            except errors.CodedError as error:  # the cluster's error; an error of the worker's ends the script
                return self._fault(error)
            if chunk is None:
                break
            for start in range(0, len(chunk), _BODY_CAP):
                self._frames.send(protocol.FrameType.BODY, memoryview(chunk)[start : start + _BODY_CAP], self._hear)
        return None

    def _count(self, call: protocol.Call) -> protocol.Reply | None:
        """Counts a call; returns the reply that refuses it, or None. Raises LimitExceeded far beyond the limit."""
        fault = self.limits.count(call, len(self._streams))
        if fault is None:
            return None
        return self._guest.refuse(fault)

    def _fault(self, error: errors.CodedError) -> protocol.ScriptFault:
        """Returns the fault of a body that broke off."""
        fault = protocol.ScriptFault(error.code, error.message)
        self.limits.keep(fault)
        return fault

    def _in_time(self, call: protocol.Call) -> tuple[protocol.Reply, Body | None]:
        try:
            left = self._seconds_left()
        except TimeoutError:
            fault = self.limits.refuse("cluster.timeout", "the script's time is over")
            return self._guest.refuse(fault), None
        return self._on_call(call, left)

    def _seconds_left(self) -> float:
        """Returns the seconds until the deadline. Raises TimeoutError after it."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _listen(self) -> None:
        """Takes the worker's frames while nothing is sent to it."""
        self._seconds_left()
        while self._hear():
            pass


class _Stream:
    """A stream's body, in pieces that fit into a frame."""

    def __init__(self, response: Body) -> None:
        self._response = response
        self._left = memoryview(b"")

    def piece(self) -> memoryview | bytes:
        """Returns a piece that has arrived, waiting for one if necessary; empty at the end. Raises CodedError."""
        while not self._left:
            chunk = next(self._response.chunks, None)
            if chunk is None:
                return b""
            self._left = memoryview(chunk)
        piece, self._left = self._left[:_BODY_CAP], self._left[_BODY_CAP:]
        return piece

    def close(self) -> None:
        """Ends the answer that the cluster is still sending."""
        self._response.close()
