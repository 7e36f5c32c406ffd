"""A fork server's warm-up: the frames of a script that makes one call, on a socket without a host.

guest/main.py calls it. With specialized bytecode, workers copy a quarter fewer pages, and none has to inspect its
messages' types.
"""

from __future__ import annotations

import socket

import msgspec

from kubescript_sandbox.guest import channel
from kubescript_sandbox.guest.contract import Guest, Rehearsal
from kubescript_sandbox.wire import framing, protocol

__all__ = ["rehearse"]


def rehearse(guest: Guest) -> None:
    """Opens a session of the guest, and exchanges the frames of its rehearsal."""
    worker_end, host_end = socket.socketpair()
    with worker_end, host_end:
        _send_host_frames(framing.FrameSocket(host_end), guest.rehearsal)
        host_end.shutdown(socket.SHUT_WR)  # so that finish() finds the end of the stream and does not wait
        link = channel.Channel(framing.FrameSocket(worker_end), guest.reply)
        guest.open(link)
        _exchange_frames(link, guest.rehearsal)


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


def _exchange_frames(link: channel.Channel, rehearsal: Rehearsal) -> None:
    """Exchanges the worker's frames for the host's."""
    # The script does not run here: at its end a megabyte is freed, after which the C library would hand out such blocks
    # already touched, page by page.
    link.start()
    exchange = link.call(rehearsal.call)
    body = b"".join(exchange.chunks())
    link.finish(protocol.Done(result=msgspec.Raw(body)))
