"""What a worker has used, read by the host from the kernel while the worker still exists, so that no answer waits for
its end.

A worker that has sent DONE blocks until it is killed. The kernel's numbers, not the worker's: the clock of the
process, clock_getcpuclockid(3), and proc_pid_status.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

__all__ = ["Consumption", "read"]

_ENOUGH: Final = 16 * 1024
"""Bytes; the file is far smaller, and the kernel gives it whole."""
_CPUCLOCK_SCHED: Final = 2
"""Both in user and in kernel mode, to the nanosecond."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """Processor time and peak resident set of one worker."""

    cpu_ms: float
    peak_bytes: int


def read(pid: int) -> Consumption | None:
    """The consumption of process `pid`; None when the kernel does not tell (it ended, or /proc hides it)."""
    try:
        cpu_ns = time.clock_gettime_ns(_clock(pid))
        return Consumption(cpu_ns / 1e6, _peak(_file(pid, "status")))
    except (OSError, ValueError, IndexError):
        return None


def _clock(pid: int) -> int:
    """The kernel's name for the processor time of a whole process: one system call where a file takes three."""
    return ~pid << 3 | _CPUCLOCK_SCHED


def _file(pid: int, name: str) -> bytes:
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _ENOUGH)
    finally:
        os.close(descriptor)


def _peak(status: bytes) -> int:
    _, _, rest = status.partition(b"VmHWM:")
    return int(rest.split(maxsplit=1)[0]) * 1024
