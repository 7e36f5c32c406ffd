"""The messages between the host (host/spawner.py) and one of its fork servers (confinement/forkserver.py).

Each message is one packet of a SOCK_SEQPACKET socket; a descriptor may travel with it. Both ends are trusted, and no
byte from a worker ever travels on this socket.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["MAX_MESSAGE", "Exited", "ForkRequest", "Forked", "Message", "Order", "Refused", "WarmUp"]

MAX_MESSAGE: Final = 4096


class ForkRequest(msgspec.Struct, frozen=True, tag=True):
    """Sent by the host: fork one worker. The worker's socket travels with the message."""

    ticket: int
    memory_bytes: int
    cpu_seconds: int


class WarmUp(msgspec.Struct, frozen=True, tag=True):
    """Sent by the host: prepare for the first request. A fork server that waits for its first message warms up."""


class Forked(msgspec.Struct, frozen=True, tag=True):
    """Sent by the fork server: the worker exists. Its pidfd travels with the message."""

    ticket: int
    pid: int


class Refused(msgspec.Struct, frozen=True, tag=True):
    """Sent by the fork server: the kernel could not create a process."""

    ticket: int
    number: int
    """The system's error number."""


class Exited(msgspec.Struct, frozen=True, tag=True):
    """Sent by the fork server: the worker is dead and reaped."""

    ticket: int
    status: int
    """The exit code as os.waitstatus_to_exitcode returns it: negative for a signal."""
    cpu_ms: float
    peak_bytes: int


Order = ForkRequest | WarmUp
Message = Forked | Refused | Exited
