"""Processor time of a process and all its descendants, as the kernel counts it: the same on a busy machine."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Final

from benchmarks import memory

__all__ = ["of_tree"]

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_BURIAL_S: Final = 0.3
"""Seconds until a worker that has answered is ended and counted with its parent."""


def of_tree(pid: int) -> float:
    """Seconds used so far by the process, its descendants and those they have buried."""
    time.sleep(_BURIAL_S)
    ticks = 0
    for each in memory.tree(pid):
        # In user and system mode, its own and those of its children that have ended.
        ticks += sum(map(int, _stat(each)[11:15]))
    return ticks / _TICKS


def _stat(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        # The name, which stands in brackets, may have spaces.
        return text.rpartition(")")[2].split()
    return ["0"] * 20
