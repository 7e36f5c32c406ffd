"""Memory of a process and all its descendants, as the kernel counts it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Memory", "of_tree", "tree"]

_PROC = Path("/proc")
_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB of a group of processes."""

    pss: float
    """Proportional: a page shared by three processes counts a third to each, so the sum counts it once."""
    rss: float
    """Resident: the sum counts a shared page once per process."""
    processes: int
    whole: bool
    """Whether every process let itself be read; of one that did not, `pss` counts the resident memory."""


def of_tree(pid: int) -> Memory:
    """The process and its descendants, now."""
    pids = tree(pid)
    rss = [_resident(each) for each in pids]
    pss = [_proportional(each) for each in pids]
    total = 0.0
    for own, resident in zip(pss, rss, strict=True):
        # Only root may read every process's own share.
        total += resident if own is None else own
    is_whole = None not in pss
    return Memory(total / 1024, sum(rss) / 1024, len(pids), is_whole)


def tree(pid: int) -> list[int]:
    """The process and its descendants, by number."""
    children: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        parent = _parent(folder)
        if parent is not None:
            children.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for each in found:  # grows while it is walked
        found += children.get(each, ())
    return found


def _parent(folder: Path) -> int | None:
    try:
        text = (folder / "stat").read_text()
    except OSError:
        return None  # it ended while we looked
    # The name, which stands in brackets, may have spaces.
    _, _, fields = text.rpartition(")")
    return int(fields.split()[1])


def _resident(pid: int) -> float:
    """Kilobytes that the process has in memory."""
    text = (_PROC / str(pid) / "statm").read_text()
    # The second figure is what is in memory; the first is the whole address space.
    pages = int(text.split()[1])
    return pages * _PAGE / 1024


def _proportional(pid: int) -> float | None:
    """KiB; None when the kernel does not say, as of another user's process or one that made itself unreadable."""
    try:
        text = (_PROC / str(pid) / "smaps_rollup").read_text()
    except OSError:
        return None
    found = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return float(found[1]) if found else None
