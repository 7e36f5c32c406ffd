"""Frames over one stream socket: length, type and payload, each checked before anything is allocated.

Both ends of a worker's socket use it: the host in `executor` and `conversation`, the worker in `channel`.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections.abc import Callable
from typing import Final

import msgspec

from kubescript.wire import protocol

__all__ = ["FrameSocket", "Hear"]

_HEAD: Final = struct.Struct("<IB")
Hear = Callable[[], bool]
"""Takes a frame that has arrived; False when what has arrived is not for now."""


class FrameSocket:
    """Frames over one stream socket. Not thread-safe: turns make a second reader meaningless.

    `deadline` (time.monotonic() seconds) bounds every operation as a whole, so that a peer who sends a byte a second
    gains nothing; past it TimeoutError is raised. The worker sets none: its time belongs to the host.
    """

    def __init__(self, sock: socket.socket, deadline: float | None = None) -> None:
        self._sock = sock
        self.deadline = deadline

    def send(self, kind: protocol.FrameType, payload: bytes | memoryview, hear: Hear | None = None) -> None:
        """Send one frame; with `hear`, listen meanwhile. Raises ProtocolError when it exceeds its cap: nothing is sent
        then, the stream stays in step."""
        _check(kind, len(payload))
        head = _HEAD.pack(len(payload), kind)
        if hear is None:
            self._sendall(head, payload)
        else:
            self._send_hearing(head, payload, hear)

    def send_message(self, kind: protocol.FrameType, message: msgspec.Struct, hear: Hear | None = None) -> None:
        """Send one structured frame."""
        self.send(kind, msgspec.json.encode(message), hear)

    def waiting(self) -> int | None:
        """The type of the frame that has begun to arrive; None when nothing has. Raises StreamClosed."""
        poller = select.poll()
        poller.register(self._sock, select.POLLIN)
        if not poller.poll(0):
            return None
        head = self._sock.recv(_HEAD.size, socket.MSG_PEEK)
        if not head:
            raise protocol.StreamClosed("the peer closed the connection")
        return head[-1] if len(head) == _HEAD.size else None

    def receive(self, allowed: frozenset[protocol.FrameType]) -> tuple[protocol.FrameType, bytes]:
        """The next frame. Raises ProtocolError for a type out of turn, an oversized length, or an early end of the
        stream."""
        length, number = _HEAD.unpack(self._exactly(_HEAD.size))
        try:
            kind = protocol.FrameType(number)
        except ValueError:
            raise protocol.ProtocolError(f"unknown frame type {number}") from None
        if kind not in allowed:
            raise protocol.ProtocolError(f"{kind.name} frame out of turn")
        _check(kind, length)
        return kind, bytes(self._exactly(length))

    def _sendall(self, head: bytes, payload: bytes | memoryview) -> None:
        self._arm()
        sent = self._sock.sendmsg((head, payload))
        view = memoryview(payload)[max(0, sent - len(head)) :]
        if sent < len(head):  # never seen on a local socket, but the kernel may
            self._sock.sendall(head[sent:])
        while view:
            self._arm()
            view = view[self._sock.send(view) :]

    def _send_hearing(self, head: bytes, payload: bytes | memoryview, hear: Hear) -> None:
        """Send, and let what the peer says be heard: of two sides that only send, neither would ever be read."""
        poller = select.poll()
        poller.register(self._sock, select.POLLIN | select.POLLOUT)
        left = [memoryview(head), memoryview(payload)]
        while left:
            self._arm()
            ready = poller.poll(self._patience())
            if ready and ready[0][1] & select.POLLIN and not hear():
                poller.modify(self._sock, select.POLLOUT)  # a turn of its own, which waits until this one is over
            elif ready and ready[0][1] & ~select.POLLIN:
                left = _without(left, self._sock.sendmsg(left, (), socket.MSG_DONTWAIT))

    def _patience(self) -> float | None:
        """Milliseconds that a poll may take."""
        return None if self.deadline is None else max(0.0, (self.deadline - time.monotonic()) * 1000)

    def _arm(self) -> None:
        if self.deadline is None:
            return
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._sock.settimeout(remaining)

    def _exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        got = 0
        while got < size:
            self._arm()
            count = self._sock.recv_into(view[got:])
            if count == 0:
                raise protocol.StreamClosed("the peer closed the connection in the middle of a turn")
            got += count
        return buffer


def _check(kind: protocol.FrameType, length: int) -> None:
    cap = protocol.CAPS[kind]
    if length > cap:
        raise protocol.ProtocolError(f"{kind.name} frame of {length} bytes exceeds its cap of {cap}")


def _without(parts: list[memoryview], count: int) -> list[memoryview]:
    """What is left of `parts` after their first `count` bytes."""
    while parts and count >= len(parts[0]):
        count -= len(parts[0])
        parts = parts[1:]
    return [parts[0][count:], *parts[1:]] if parts else []
