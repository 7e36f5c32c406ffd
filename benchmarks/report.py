"""What a benchmark says: one row per comparison, subject and baseline from the same run; and how rows are shown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Row", "Unavailable", "align", "median", "write_goal", "write_number", "write_ratio"]

Kind = Literal["at_most", "at_least", "times_faster", "value_at_most", ""]


class Unavailable(Exception):
    """This machine lacks what a benchmark needs, such as npm; the message says what."""


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    what: str
    """The same in every run: the file of results finds the row by it."""
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

    @property
    def is_rate(self) -> bool:
        """Whether more of the subject is better, as of scripts a second."""
        return self.kind == "at_least" or self.unit.endswith("/s")


def median(values: Sequence[float]) -> float:
    """The middle: one disturbed repetition does not move it."""
    return statistics.median(values)


def align(lines: Iterable[Sequence[str]]) -> str:
    """Cells as aligned columns."""
    cells = list(lines)
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    padded = ["  ".join(map(str.ljust, line, widths)) for line in cells]
    return "\n".join(map(str.rstrip, padded))


def write_ratio(ratio: float | None) -> str:
    """`1.24` times; a fraction below a tenth: of 0.05 hardly anybody sees that it is a twentieth."""
    if ratio is None:
        return "–"
    if ratio < 0.1:
        return f"1/{1 / ratio:,.0f}"
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:,.0f}×"


def write_goal(row: Row) -> str:
    """What the goal bounds, such as `≤ 4 ms`, or nothing."""
    goal = f"{row.goal:g}"
    return {
        "at_most": f"≤ {goal}×",
        "at_least": f"≥ {goal}×",
        "times_faster": f"≥ {goal}× faster",
        "value_at_most": f"≤ {goal} {row.unit}".rstrip(),
        "": "",
    }[row.kind]


def write_number(value: float | None, unit: str) -> str:
    """`2.48 ms`; above 100, decimals are less than the noise of any measurement."""
    if value is None:
        return "–"
    is_long = value >= 100 or value == int(value)
    digits = 0 if is_long else 2
    return f"{value:,.{digits}f} {unit}".rstrip()
