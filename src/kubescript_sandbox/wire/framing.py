"""Sends and receives frames over a stream socket; checks length and type before it allocates anything.

Both ends of a worker's socket use this module: the host in host/ and the worker in guest/channel.py.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Final

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = ["FrameSocket", "OnFrame"]

_HEADER: Final = struct.Struct("<IB")
# How many bytes of payload are copied behind their header; larger payloads are cheaper to send in two calls.
_JOINED: Final = 64 * protocol.KIB
OnFrame = Callable[[], bool]
"""Called during a send when a frame has arrived. Returns False when that frame must wait until the send is over."""


class FrameSocket:
    """Sends and receives frames on one socket. Not thread-safe: the protocol's turns need only one reader.

    `deadline` (time.monotonic() seconds) bounds every operation as a whole, so that a peer that sends one byte a second
    gains nothing; after the deadline, TimeoutError is raised. The worker sets no deadline: the host limits its time.
    """

    def __init__(self, sock: socket.socket, deadline: float | None = None) -> None:
        self._sock = sock
        self.deadline = deadline

    def send(
        self, frame_type: protocol.FrameType, payload: bytes | memoryview, on_frame: OnFrame | None = None
    ) -> None:
        """Sends one frame; with `on_frame`, also receives while sending. Raises ProtocolError when the payload exceeds
        its type's cap; nothing is sent then, so the stream stays intact."""
        _check(frame_type, len(payload))
        header = _HEADER.pack(len(payload), frame_type)
        if on_frame is None:
            self._sendall(header, payload)
        else:
            self._send_while_receiving(header, payload, on_frame)

    def send_message(self, frame_type: protocol.FrameType, message: object, on_frame: OnFrame | None = None) -> None:
        """Sends one message as the JSON payload of a frame."""
        payload = msgspec.json.encode(message)
        self.send(frame_type, payload, on_frame)

    def peek_type(self) -> int | None:
        """Returns the type of the frame that has begun to arrive, or None. Reads nothing. Raises StreamClosed."""
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        if not poller.poll(0):
            return None
        try:
            # The header stays there for receive(). Attack: a worker sends out-of-band data, which makes an empty socket
            # readable.
            header = self._sock.recv(_HEADER.size, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        if not header:
            raise protocol.StreamClosed("the peer closed the connection")
        return header[-1] if len(header) == _HEADER.size else None

    def receive(self, allowed: frozenset[protocol.FrameType]) -> tuple[protocol.FrameType, bytes]:
        """Receives the next frame. Raises ProtocolError for an unknown type, a type that is not in `allowed`, a length
        beyond the cap, and an early end of the stream."""
        header = self._receive_exactly(_HEADER.size)
        length, number = _HEADER.unpack(header)
        try:
            frame_type = protocol.FrameType(number)
        except ValueError:
            raise protocol.ProtocolError(f"unknown frame type {number}") from None
        if frame_type not in allowed:
            raise protocol.ProtocolError(f"{frame_type.name} frame out of turn")
        _check(frame_type, length)
        payload = self._receive_exactly(length)
        return frame_type, bytes(payload)

    def _sendall(self, header: bytes, payload: bytes | memoryview) -> None:
        # A worker may make no system call that takes ancillary data (confinement/seccomp.py), so a frame is not sent
        # from two buffers at once.
        parts = [header + payload] if len(payload) <= _JOINED else [header, payload]
        for part in parts:
            unsent = memoryview(part)
            while unsent:
                self._apply_deadline()
                count = self._sock.send(unsent)
                unsent = unsent[count:]

    def _send_while_receiving(self, header: bytes, payload: bytes | memoryview, on_frame: OnFrame) -> None:
        """Sends, and receives frames at the same time."""
        # When both sides only send, both socket buffers fill up and neither side ever reads.
        poller = select.poll()
        poller.register(self._sock, select.POLLIN | select.POLLOUT)
        unsent = [memoryview(header), memoryview(payload)]
        while unsent:
            self._apply_deadline()
            ready = poller.poll(self._poll_timeout())
            events = ready[0][1] if ready else 0
            if events & select.POLLIN and not on_frame():
                poller.modify(self._sock, select.POLLOUT)  # this frame starts a new turn: it is read after this send
            elif events & ~select.POLLIN:
                count = self._sock.sendmsg(unsent, (), socket.MSG_DONTWAIT)
                unsent = _drop_bytes(unsent, count)

    def _poll_timeout(self) -> float | None:
        """Returns the milliseconds until the deadline; None when there is none."""
        if self.deadline is None:
            return None
        remaining = self.deadline - time.monotonic()
        return max(0.0, remaining * 1000)

    def _apply_deadline(self) -> None:
        if self.deadline is None:
            return
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._sock.settimeout(remaining)

    def _receive_exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        got = 0
        while got < size:
            self._apply_deadline()
            count = self._sock.recv_into(view[got:])
            if count == 0:
                raise protocol.StreamClosed("the peer closed the connection in the middle of a turn")
            got += count
        return buffer


def _check(frame_type: protocol.FrameType, length: int) -> None:
    """Raises ProtocolError when the length exceeds the type's cap."""
    # Attack: a worker sends a header that announces 4 GiB, which the receiver would allocate.
    cap = protocol.CAPS[frame_type]
    if length > cap:
        raise protocol.ProtocolError(f"{frame_type.name} frame of {length} bytes exceeds its cap of {cap}")


def _drop_bytes(parts: list[memoryview], count: int) -> list[memoryview]:
    """Returns `parts` without their first `count` bytes."""
    while parts and count >= len(parts[0]):
        count -= len(parts[0])
        parts = parts[1:]
    if not parts:
        return []
    first, *rest = parts
    return [first[count:], *rest]
