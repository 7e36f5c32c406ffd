"""The descriptors of a command line's process: no input, and two pipes to the host."""

from __future__ import annotations

import itertools
import os
import resource
import sys
from collections.abc import Sequence
from typing import Final

__all__ = ["attach"]

_WITHOUT_LIMIT: Final = 1 << 20
"""How many descriptors a process without a limit may have by default (fs.nr_open)."""


def attach(outputs: Sequence[int], kept: Sequence[int]) -> None:
    """Makes the two pipes standard output and standard error, an empty pipe standard input, and closes every other
    descriptor except `kept`. It runs before the process is confined: the highest descriptor is unknown afterwards."""
    reader, writer = os.pipe()
    os.close(writer)
    for descriptor, number in zip((reader, *outputs), (0, 1, 2), strict=True):
        os.dup2(descriptor, number, inheritable=True)
        os.close(descriptor)
    sys.stdin = open(0)  # noqa: SIM115 - it has no path
    sys.stdout = open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w")  # noqa: SIM115
    _close_others(kept)


def _close_others(kept: Sequence[int]) -> None:
    # Attack: a command line that is taken over reads the orders of other callers, credentials included, from the
    # control socket of its fork server. That socket can have any number up to the server's own limit.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        most = _WITHOUT_LIMIT
    bounds = (2, *sorted(kept), most)
    for before, after in itertools.pairwise(bounds):
        os.closerange(before + 1, after)
