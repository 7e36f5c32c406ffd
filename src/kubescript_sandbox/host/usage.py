"""A worker's processor time and memory. The executor reads them while the worker still exists, so that no answer waits
for the worker's end.

A worker that has sent DONE blocks until it is killed. The numbers come from the kernel, not from the worker: the
process's clock, see clock_getcpuclockid(3), and proc_pid_status(5).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

__all__ = ["Consumption", "read"]

# How many bytes are read from a file. Each file is far smaller, and the kernel returns it whole.
_ENOUGH: Final = 16 * 1024
_CPUCLOCK_SCHED: Final = 2
"""The clock that counts time in user and kernel mode, to the nanosecond."""


@dataclass(frozen=True, slots=True)
class Consumption:
    """One worker's processor time and peak resident set."""

    cpu_ms: float
    peak_bytes: int


def read(pid: int) -> Consumption | None:
    """Returns the consumption of process `pid`; None when the kernel does not report it: the process has ended, or
    /proc hides it."""
    try:
        cpu_ns = time.clock_gettime_ns(_clock(pid))
        peak_bytes = _peak(_file(pid, "status"))
    except (OSError, ValueError, IndexError):
        return None
    return Consumption(cpu_ns / 1e6, peak_bytes)


def _clock(pid: int) -> int:
    """Returns the kernel's id of the clock that counts a whole process's processor time."""
    # Reading the clock takes one system call, reading a file three.
    return ~pid << 3 | _CPUCLOCK_SCHED


def _file(pid: int, name: str) -> bytes:
    """Returns a file about a process. Raises OSError."""
    descriptor = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _ENOUGH)
    finally:
        os.close(descriptor)


def _peak(status: bytes) -> int:
    """Returns the bytes of the peak resident set."""
    _, _, rest = status.partition(b"VmHWM:")
    kibibytes = rest.split(maxsplit=1)[0]
    return int(kibibytes) * 1024
