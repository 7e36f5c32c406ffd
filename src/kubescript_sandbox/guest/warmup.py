"""A socket at which all frames of a host with a canned answer have arrived: guest/main.py runs a rehearsal on it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import msgspec

from kubescript_sandbox.guest.contract import Rehearsal
from kubescript_sandbox.wire import framing, protocol

__all__ = ["open_socket"]


@contextlib.contextmanager
def open_socket(rehearsal: Rehearsal) -> Iterator[framing.FrameSocket]:
    """Yields a worker's end of such a socket."""
    worker_end, host_end = socket.socketpair()
    with worker_end, host_end:
        _send_host_frames(framing.FrameSocket(host_end), rehearsal)
        host_end.shutdown(socket.SHUT_WR)  # so that finish() finds the end of the stream and does not wait
        yield framing.FrameSocket(worker_end)


def _send_host_frames(host: framing.FrameSocket, rehearsal: Rehearsal) -> None:
    """Sends all frames that a host sends to a worker whose script makes one call."""
    start = protocol.Start(
        script=rehearsal.script,
        parameters=msgspec.Raw(msgspec.json.encode(rehearsal.parameters)),
        timeout_ms=1000,
        memory_bytes=1 << 30,
        depth=1000,
        output_bytes=1 << 16,
        api_calls=1,
        response_bytes=1 << 20,
    )
    host.send_message(protocol.FrameType.START, start)
    host.send_message(protocol.FrameType.REPLY, rehearsal.reply)
    host.send(protocol.FrameType.BODY, rehearsal.body)
    host.send_message(protocol.FrameType.END, protocol.End())
