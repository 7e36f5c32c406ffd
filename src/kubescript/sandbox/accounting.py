"""What a worker has used, read by the host from the kernel while the worker still exists, so that no answer waits for
its end.

A worker that has sent DONE blocks until it is killed. The kernel's numbers, not the worker's: proc_pid_schedstat and
proc_pid_status.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Consumption", "read"]


@dataclass(frozen=True, slots=True)
class Consumption:
    """Processor time and peak resident set of one worker."""

    cpu_ms: float
    peak_bytes: int


def read(pid: int) -> Consumption | None:
    """The consumption of process `pid`; None when the kernel does not tell (it ended, or /proc hides it)."""
    try:
        cpu_ns = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        return Consumption(cpu_ns / 1e6, _peak(Path(f"/proc/{pid}/status").read_bytes()))
    except (OSError, ValueError, IndexError):
        return None


def _peak(status: bytes) -> int:
    _, _, rest = status.partition(b"VmHWM:")
    return int(rest.split(maxsplit=1)[0]) * 1024
