"""What the process has freed goes back to the machine."""

from __future__ import annotations

import os
from pathlib import Path

from kubescript_sandbox import unused_memory

BLOCK = b"x" * 100_000
"""Fewer bytes than the C library gives back at once."""
BLOCKS = 1_000


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_freed_memory_goes_back() -> None:
    """Of 100 MB that are freed below a block that is kept, more than half leaves the process."""
    blocks = [bytearray(BLOCK) for _ in range(BLOCKS)]
    del blocks[:-1]
    before = _resident_bytes()
    unused_memory.give_back()
    assert before - _resident_bytes() > BLOCKS * len(BLOCK) // 2
