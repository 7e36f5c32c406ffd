"""What a benchmark says: one row per comparison, subject and baseline from the same run; and how rows are shown."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["Row", "Unavailable", "as_json", "median", "table"]

Kind = Literal["at_most", "at_least", "times_faster", "value_at_most", ""]

_HEADINGS = ("", "what", "subject", "baseline", "", "ratio", "goal", "met")


class Unavailable(Exception):
    """This machine lacks what a benchmark needs, such as npm; the message says what."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    benchmark: str
    what: str
    unit: str
    subject: float
    baseline: float | None = None
    baseline_name: str = ""
    kind: Kind = ""
    """What the goal bounds: subject / baseline, baseline / subject, or the subject itself. Empty: no goal, for
    information."""
    goal: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Subject / baseline, or how many times faster the subject is where the goal says so."""
        # Either may have to divide the other.
        if not self.baseline or not self.subject:
            return None
        if self.kind == "times_faster":
            return self.baseline / self.subject
        return self.subject / self.baseline

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without a goal, or without its baseline."""
        if self.kind == "value_at_most":
            return self.subject <= self.goal
        if not self.kind or self.ratio is None:
            return None
        if self.kind in {"times_faster", "at_least"}:
            return self.ratio >= self.goal
        return self.ratio <= self.goal


def median(values: Sequence[float]) -> float:
    """The middle: one disturbed repetition does not move it."""
    return statistics.median(values)


def as_json(rows: Sequence[Row], notes: Sequence[str], machine: dict[str, Any]) -> dict[str, Any]:
    """Everything of a run, for `--json`."""
    found = []
    for row in rows:
        figures = {"ratio": row.ratio, "met": row.met}
        found.append(dataclasses.asdict(row) | figures)
    return {"machine": machine, "rows": found, "notes": notes}


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned columns."""
    cells = [_HEADINGS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)) for line in cells]
    return "\n".join(map(str.rstrip, lines))


def _cells(row: Row) -> tuple[str, ...]:
    # In capitals, so that it is seen in a column of yes.
    met = {True: "yes", False: "NO", None: ""}[row.met]
    baseline = "–" if row.baseline is None else _number(row.baseline, row.unit)
    return (
        row.benchmark,
        row.what,
        _number(row.subject, row.unit),
        baseline,
        row.baseline_name,
        _ratio(row),
        _goal(row),
        met,
    )


def _ratio(row: Row) -> str:
    ratio = row.ratio
    if ratio is None:
        return "–"
    # As a fraction: of 0.05 hardly anybody sees that it is a twentieth.
    if ratio < 0.1:
        return f"1/{1 / ratio:,.0f}"
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:,.0f}×"


def _goal(row: Row) -> str:
    goal = f"{row.goal:g}"
    return {
        "at_most": f"≤ {goal}×",
        "at_least": f"≥ {goal}×",
        "times_faster": f"≥ {goal}× faster",
        "value_at_most": f"≤ {goal} {row.unit}",
        "": "",
    }[row.kind]


def _number(value: float, unit: str) -> str:
    # Above 100, decimals are less than the noise of any measurement.
    is_long = value >= 100 or value == int(value)
    digits = 0 if is_long else 2
    return f"{value:,.{digits}f} {unit}"
