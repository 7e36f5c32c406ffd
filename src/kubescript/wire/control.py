"""The wire between the host and its fork server: one SOCK_SEQPACKET message each, descriptors alongside.

Both ends are ours and trusted; no byte of a worker ever travels here.
"""

from __future__ import annotations

from typing import Final

import msgspec

__all__ = ["MAX_MESSAGE", "Exited", "ForkRequest", "Forked", "Message"]

MAX_MESSAGE: Final = 4096


class ForkRequest(msgspec.Struct, frozen=True, tag=True):
    """Host: fork one worker around the descriptor sent along."""

    ticket: int
    memory_bytes: int
    cpu_seconds: int


class Forked(msgspec.Struct, frozen=True, tag=True):
    """Fork server: the worker exists; its pidfd comes along."""

    ticket: int
    pid: int


class Exited(msgspec.Struct, frozen=True, tag=True):
    """Fork server: the worker is dead and reaped."""

    ticket: int
    status: int
    """As os.waitstatus_to_exitcode gives it: negative for a signal."""
    cpu_ms: float
    peak_bytes: int


Message = Forked | Exited
