"""What a worker has used, read by the host from the kernel while the worker still exists, so that no answer waits for
its end.

A worker that has sent DONE blocks until it is killed. The kernel's numbers, not the worker's: proc_pid_schedstat and
proc_pid_status.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

__all__ = ["Consumption", "read"]

_ENOUGH: Final = 16 * 1024
"""Bytes; both files are far smaller, and the kernel gives them whole."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """Processor time and peak resident set of one worker."""

    cpu_ms: float
    peak_bytes: int


def read(pid: int) -> Consumption | None:
    """The consumption of process `pid`; None when the kernel does not tell (it ended, or /proc hides it)."""
    try:
        cpu_ns = int(_file(pid, "schedstat").split(maxsplit=1)[0])
        return Consumption(cpu_ns / 1e6, _peak(_file(pid, "status")))
    except (OSError, ValueError, IndexError):
        return None


def _file(pid: int, name: str) -> bytes:
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _ENOUGH)
    finally:
        os.close(descriptor)


def _peak(status: bytes) -> int:
    _, _, rest = status.partition(b"VmHWM:")
    return int(rest.split(maxsplit=1)[0]) * 1024
