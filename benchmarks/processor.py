"""Processor time and page faults of a process and all its descendants, as the kernel counts them. On a busy machine faults
stay the same, and processor time grows by up to a third: neighbours share its caches."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import memory, report, stdio

__all__ = ["Cost", "Load", "compare", "of_tree"]

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_BURIAL_S: Final = 0.3
"""Seconds until a worker that has answered is ended and counted with its parent."""


@dataclass(frozen=True, slots=True)
class Load:
    """Calls that a server is asked to answer in each turn."""

    server: stdio.Server
    tool: str
    arguments: Mapping[str, str]
    calls: int
    """Many of a light tool: the kernel tells processor time in steps of 10 ms."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call costs, in all processes of its server."""

    milliseconds: float
    faults: float
    """Pages that were made or copied: a few hundred nanoseconds each, which no profile of Python shows."""


def compare(turns: int, *loads: Load) -> list[Cost]:
    """The cost of a call of each, the median of turns: what else the machine does makes the caches of all colder."""
    costs: list[list[Cost]] = [[] for _ in loads]
    for _ in range(turns):
        for load, found in zip(loads, costs, strict=True):
            found.append(_answer(load))
    return [_middle(found) for found in costs]


def of_tree(pid: int) -> float:
    """Seconds used so far by the process, its descendants and those they have buried."""
    return _read(pid).seconds


@dataclass(frozen=True, slots=True)
class _Used:
    seconds: float
    faults: int


def _answer(load: Load) -> Cost:
    before = _read(load.server.pid)
    for _ in range(load.calls):
        load.server.call(load.tool, dict(load.arguments))
    after = _read(load.server.pid)
    spent = (after.seconds - before.seconds) * 1000
    return Cost(spent / load.calls, (after.faults - before.faults) / load.calls)


def _middle(costs: Sequence[Cost]) -> Cost:
    milliseconds = report.median([cost.milliseconds for cost in costs])
    return Cost(milliseconds, report.median([cost.faults for cost in costs]))


def _read(pid: int) -> _Used:
    time.sleep(_BURIAL_S)
    ticks = faults = 0
    for each in memory.tree(pid):
        fields = _stat(each)
        # In user and system mode, its own and those of its children that have ended; and minor faults of both.
        ticks += sum(map(int, fields[11:15]))
        faults += sum(map(int, fields[7:9]))
    return _Used(ticks / _TICKS, faults)


def _stat(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        # The name, which stands in brackets, may have spaces.
        return text.rpartition(")")[2].split()
    return ["0"] * 20
