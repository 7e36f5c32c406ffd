"""How long a test waits on a machine that has other work to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

_MOST: Final = 12.0
"""A bound that grows without end would hold whatever happens."""


def scaled(seconds: float) -> float:
    """`seconds` on an idle machine; more on a loaded one, in proportion to the tasks that share a processor.

    So a promise such as "by the deadline and a second" is held to the second where nothing else runs, and a machine with
    load 12 does not break it. Each other process of the tests may begin to compute in the next moment, and so may the
    server that it drives.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0"))
    tasks = max(os.getloadavg()[0], _running(), 2 * processes)
    share = tasks / len(os.sched_getaffinity(0))
    if share <= 1:
        return seconds
    weight = 1.25 ** max(os.nice(0), 0)  # sched(7): each step of niceness costs a fifth of the share
    return seconds * min(share * weight, _MOST)


def scaled_ms(milliseconds: int) -> int:
    """The same for the time limit of a script."""
    return int(scaled(milliseconds / 1000) * 1000)


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits for `condition`; fails when it does not come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _running() -> int:
    """Tasks that run or wait for a processor at this moment; the load average lags behind by a minute."""
    return int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
