"""The file of results: each row as it was last recorded, with machine, load and date; and what has got worse since."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks import NAMES, report

__all__ = ["FILE", "Key", "Result", "describe_machine", "is_worse", "load", "merge", "save", "today"]

FILE: Final = Path(__file__).with_name("results.json")
WORSE: Final = 1.1
"""Less than a tenth is the noise of a quiet machine."""

Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Result:
    """A row of a benchmark, and how it was measured."""

    benchmark: str
    row: report.Row
    machine: str
    """Processor, cores, kernel and Python: values compare only where all are the same but for patches."""
    load: float
    """Processes that wanted a core in the minute before."""
    date: str

    @property
    def key(self) -> Key:
        """What tells it from all others: a row may be measured beside two baselines, and in tokens and in time."""
        return self.benchmark, self.row.what, self.row.baseline_name, self.row.unit


def load(file: Path) -> dict[Key, Result]:
    """The recorded results of benchmarks that there are; none without the file."""
    if not file.exists():
        return {}
    found = map(_read, json.loads(file.read_text("utf-8")))
    return {result.key: result for result in found if result.benchmark in NAMES}


def save(file: Path, results: Iterable[Result]) -> None:
    """Write one result a line, in the order of the benchmarks, so that a change is seen row by row."""
    ordered = sorted(results, key=lambda result: NAMES.index(result.benchmark))
    lines = [json.dumps(_write(result), ensure_ascii=False) for result in ordered]
    text = ",\n".join(lines)
    whole = file.with_suffix(".new")
    whole.write_text(f"[\n{text}\n]\n", "utf-8")
    whole.replace(file)


def merge(recorded: Mapping[Key, Result], measured: Iterable[Result]) -> list[Result]:
    """The recorded results with those that were measured now; rows that were not measured stay."""
    return list({**recorded, **{result.key: result for result in measured}}.values())


def is_worse(now: Result, recorded: Result) -> bool:
    """Whether the ratio has got worse by more than a tenth; without one, the value, on the same machine."""
    ratio, before = now.row.ratio, recorded.row.ratio
    if ratio is not None and before is not None:
        is_more_better = now.row.is_rate or now.row.kind == "times_faster"
        return _has_worsened(ratio, before, is_more_better=is_more_better)
    if now.machine != recorded.machine:
        return False
    return _has_worsened(now.row.subject, recorded.row.subject, is_more_better=now.row.is_rate)


def _has_worsened(now: float, before: float, *, is_more_better: bool) -> bool:
    # Without a division: what was never seen, such as verdicts that differ, was 0.
    return now * WORSE < before if is_more_better else now > before * WORSE


def describe_machine() -> str:
    """`AMD EPYC, 2 cores, Linux 6.18, Python 3.11`."""
    found = re.search(r"^model name\s*: (.+)$", _read_processors(), re.MULTILINE)
    model = found[1] if found else platform.machine()
    cores = len(os.sched_getaffinity(0))
    kernel, python = map(_cut_patch, (platform.release(), platform.python_version()))
    return f"{model}, {cores} cores, {platform.system()} {kernel}, Python {python}"


def today() -> str:
    """The date, the same everywhere."""
    return datetime.now(UTC).date().isoformat()


def _cut_patch(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _read_processors() -> str:
    file = Path("/proc/cpuinfo")
    return file.read_text() if file.exists() else ""


def _read(fields: dict[str, Any]) -> Result:
    """A result from a line, whose ratio follows from its values."""
    row = {field.name: fields.pop(field.name) for field in dataclasses.fields(report.Row)}
    del fields["ratio"]
    return Result(row=report.Row(**row), **fields)


def _write(result: Result) -> dict[str, Any]:
    fields = dataclasses.asdict(result)
    row = fields.pop("row")
    # No clock has more digits, and people read them.
    figures = {"subject": row["subject"], "baseline": row["baseline"], "ratio": result.row.ratio}
    row |= {name: value if value is None else float(f"{value:.6g}") for name, value in figures.items()}
    return {"benchmark": fields.pop("benchmark"), **row, **fields}
