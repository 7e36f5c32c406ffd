"""What the suite costs: processor seconds by folder, beside a budget that a run must keep.

Time on a wall says nothing on a machine with other work to do, so budgets are in processor time. A folder that needs half
more than its budget in tests/costs.json, and twenty seconds more than that, fails the run. So do all folders together.

On one machine the same run took 3,800 s one day and 5,400 s another, while a fixed piece of work took the same: neighbours
share its caches and its memory. So a folder's budget grows with what the folder in the middle needs of its own.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Final

from tests.kit import programs, schedule, warm

__all__ = ["Meter", "Report"]

_OVER: Final = 1.5
"""How much of its budget a folder may need."""
_BY_CHANCE_S: Final = 20.0
"""What a folder may need besides. Its tests may be the first in each of four processes: there they read the libraries of
all later ones."""
_SHARED: Final = "beside tests"
"""The start and end of processes, collection, and servers that all tests share: one row, for which of them pays for what
depends on the order of tests."""
_WORK_S: Final = 0.045
"""Processor seconds of `_work` on the machine on which the budgets were recorded."""
Told = tuple[dict[str, float], dict[str, float], dict[str, float], float, bool]
"""See `Meter.told`: values that pass from one process to another."""
_ROWS: Final = 20
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Meter:
    """Counts in one process what each file of tests costs."""

    def __init__(self) -> None:
        self.processor: defaultdict[str, float] = defaultdict(float)
        """File ▶ processor seconds of this process, of what it has started and of the warm process."""
        self.wall: defaultdict[str, float] = defaultdict(float)
        """Group ▶ seconds."""
        self.longest: defaultdict[str, float] = defaultdict(float)
        """Test ▶ seconds of its longest case."""
        self._begun = (0.0, 0.0)

    def begin(self) -> None:
        """A test begins."""
        self._begun = (time.monotonic(), spent())

    def end(self, nodeid: str, group: str) -> None:
        """It has ended."""
        began, before = self._begun
        seconds = time.monotonic() - began
        self.wall[group] += seconds
        test = nodeid.partition("[")[0]
        self.longest[test] = max(self.longest[test], seconds)
        self.processor[nodeid.partition("::")[0]] += spent() - before

    def told(self) -> Told:
        """What this process tells the one that adds up: the three counts, all that it has spent, and whether it has built
        programs."""
        return dict(self.processor), dict(self.wall), dict(self.longest), spent(), programs.have_taken_time()


class Report:
    """Adds up the meters of all processes."""

    def __init__(self) -> None:
        self.processor: defaultdict[str, float] = defaultdict(float)
        self.wall: defaultdict[str, float] = defaultdict(float)
        self.longest: dict[str, float] = {}
        self._has_built = False
        self._began = time.monotonic()

    def add(self, told: Told) -> None:
        """Takes what one process has counted; what it spent beside tests is start, collection and servers of its own.
        Programs that it has built count as if tests had."""
        processor, wall, longest, total, built = told
        self._has_built |= built
        self.longest |= {test: max(seconds, self.longest.get(test, 0.0)) for test, seconds in longest.items()}
        for mine, theirs in ((self.processor, processor), (self.wall, wall)):
            for name, seconds in theirs.items():
                mine[name] += seconds
        self.processor[_SHARED] += total - sum(processor.values())

    def add_servers(self, folder: Path) -> None:
        """Takes what the servers have spent that all processes share."""
        for state in folder.glob("*.json"):
            pids = json.loads(state.read_text("utf-8")).get("pids", ())
            self.processor[_SHARED] += sum(spent_by(pid) for pid in pids)

    def lines(self) -> list[str]:
        """The table: every folder beside its budget, and the files that cost most."""
        budgets = schedule.read()["folders"]
        folders = self.folders()
        rows = [f"{'processor seconds':>18}{'budget':>10}  folder"]
        for name, seconds in sorted(folders.items(), key=lambda row: -row[1]):
            rows.append(f"{seconds:>18.1f}{budgets.get(name, 0):>10.0f}  {name}")
        rows.append(f"{sum(folders.values()):>18.1f}{sum(budgets.values()):>10.0f}  all")
        files = sorted(self.processor.items(), key=lambda row: -row[1])
        rows.append("the dearest files:")
        rows += [f"{seconds:>18.1f}{'':>10}  {name}" for name, seconds in files[:_ROWS] if "/" in name]
        rows.append(f"{time.monotonic() - self._began:>18.1f}{'':>10}  seconds of wall time")
        return rows

    def over(self) -> list[str]:
        """The folders that need more than their budget allows, and all together; none where programs were built in this
        run."""
        if self._has_built:
            return []
        budgets = schedule.read()["folders"]
        folders = self.folders()
        computes = max(1.0, _work() / _WORK_S)
        runs = max(computes, statistics.median(folders.get(name, 0.0) / budget for name, budget in budgets.items()))
        rows = [(name, seconds, budgets.get(name, 0.0), runs) for name, seconds in folders.items()]
        rows.append(("all", sum(folders.values()), sum(budgets.values()), computes))
        return [
            f"{name}: {seconds:.0f} s of processor time, budget {budget:.0f} s (x {slowness:.2f} on this machine)"
            for name, seconds, budget, slowness in rows
            if seconds > slowness * (_OVER * budget + _BY_CHANCE_S)
        ]

    def folders(self) -> dict[str, float]:
        """Folder ▶ processor seconds."""
        found: defaultdict[str, float] = defaultdict(float)
        for file, seconds in self.processor.items():
            found[str(Path(file).parent) if "/" in file else file] += seconds
        return found

    def record(self) -> None:
        """Writes the costs of this run as the budget of later ones."""
        folders = {name: round(seconds + 0.5) for name, seconds in sorted(self.folders().items())}
        groups, tests = (
            {name: round(seconds) for name, seconds in sorted(found.items()) if seconds >= 1}
            for found in (self.wall, self.longest)
        )
        schedule.COSTS.write_text(
            json.dumps({"folders": folders, "groups": groups, "tests": tests}, indent=1) + "\n", "utf-8"
        )


def spent() -> float:
    """Processor seconds of this process, of its children that have ended, and of the warm process and its children."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages) + spent_by(warm.pid())


def spent_by(pid: int) -> float:
    """Processor seconds of another process and of its children that have ended; 0 where there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split() if pid else []
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS


@functools.cache
def _work() -> float:
    """Processor seconds that a fixed piece of work takes here: the least of three tries."""
    tries = []
    for _ in range(3):
        before = time.process_time()
        total = 0
        for number in range(1_000_000):
            total += number % 7
        tries.append(time.process_time() - before)
    return min(tries)
