"""The text format of the Helm tools: tables, and times for people and programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.kubectl.rows.cells import line

__all__ = ["align", "chart_of", "seconds", "write_table"]

_FRACTION: Final = re.compile(r"(\d\d:\d\d:\d\d)\.\d+")
# Attack: a release has a cell of a megabyte, to which a hundred others would be padded.
_MOST_WIDTH: Final = 200
"""The maximum width in characters to which cells are padded."""
_MISSING: Final = "MISSING"
"""Helm's text for a release without a chart."""


def align(rows: Sequence[Sequence[object]]) -> str:
    """Returns rows as text in columns."""
    cells = [[line(cell) for cell in row] for row in rows]
    widths = []
    for column in zip(*cells, strict=True):
        longest = max(map(len, column))
        widths.append(min(_MOST_WIDTH, longest))
    lines = []
    for row in cells:
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def write_table(titles: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Returns rows as text in columns with these titles."""
    values = [list(row.values()) for row in rows]
    return align([titles, *values])


def chart_of(release: dict[str, Any]) -> tuple[str, str]:
    """Returns the chart in Helm's notation, and the application's version."""
    metadata = (release.get("chart") or {}).get("metadata")
    if metadata is None:
        return _MISSING, _MISSING
    name = metadata.get("name", "")
    version = metadata.get("version", "")
    chart = "-".join(filter(None, (name, version)))
    return chart, metadata.get("appVersion", "")


def seconds(time: str) -> str:
    """Returns a time without fractions of a second."""
    return _FRACTION.sub(r"\1", time)
