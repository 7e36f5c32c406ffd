"""Processes of this machine, by their ids, as Linux shows them."""

from __future__ import annotations

import contextlib
from pathlib import Path

__all__ = ["children", "is_alive"]


def children(pid: int) -> set[int]:
    """The children of a process, whichever of its threads has started them; none once it has ended."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # a thread that ends leaves its children to another
                found |= {int(word) for word in (thread / "children").read_text().split()}
    return found


def is_alive(pid: int) -> bool:
    """Whether there is such a process; one that only waits to be counted by its parent (a zombie) is none."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in {"Z", "X"}
