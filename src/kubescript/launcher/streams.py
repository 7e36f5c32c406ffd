"""The descriptors of a command line's process: no input, and two pipes to the host."""

from __future__ import annotations

import itertools
import os
import resource
import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["attach", "close_others"]

_WITHOUT_LIMIT: Final = 1 << 20
"""The default maximum of descriptors in a process without a limit (fs.nr_open)."""


def attach(outputs: Sequence[int]) -> None:
    """Makes the two pipes standard output and standard error, and an empty pipe standard input."""
    reader, writer = os.pipe()
    os.close(writer)
    for descriptor, number in zip((reader, *outputs), (0, 1, 2), strict=True):
        os.dup2(descriptor, number, inheritable=True)
        os.close(descriptor)
    sys.stdin = open(0)  # noqa: SIM115 - it has no path
    sys.stdout = open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w")  # noqa: SIM115


def close_others(kept: Sequence[int] = ()) -> None:
    """Closes every descriptor except the standard ones and `kept`."""
    # None may lead to a file or another process.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        most = _WITHOUT_LIMIT
    bounds = (2, *sorted(kept), most)
    for before, after in itertools.pairwise(bounds):
        os.closerange(before + 1, after)
