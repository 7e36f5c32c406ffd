"""Sorts the rows of events for a reader who is looking for a fault, and counts how often each fault occurred."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from kubescript.guest.kubectl.rows.listing import Listing, Row

__all__ = ["MODELS", "sort_rows", "warnings"]

MODELS: Final = ("CoreV1Event", "EventsV1Event")
_SECONDS: Final = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_AGE: Final = re.compile(r"(?:\d{1,9}[ydhms]){1,3}", re.ASCII)
_PART: Final = re.compile(r"(\d{1,9})([ydhms])", re.ASCII)
# The sort key of an event with an unknown time: after all others.
_LAST: Final = 10**18


def sort_rows(found: Listing) -> Listing:
    """Returns the rows with warnings first, and within each type the most recent first."""
    kind = _find_column(found, "Type")
    seen = _find_column(found, "Last Seen")

    def order(row: Row) -> tuple[bool, int]:
        is_normal = row.cell(kind) != "Warning"
        return is_normal, _seconds(row.cell(seen))

    rows = sorted(found.rows, key=order)
    return found._replace(rows=rows)


def warnings(found: Listing) -> Counter[str]:
    """Returns how often each warning's reason occurred: an event that was seen 40 times counts 40 times."""
    kind = _find_column(found, "Type")
    reason = _find_column(found, "Reason")
    count = _find_column(found, "Count")
    counts: Counter[str] = Counter()
    for row in found.rows:
        if row.cell(kind) != "Warning":
            continue
        times = row.cell(count)
        # A row may be too short to have a count.
        if not isinstance(times, int):
            times = 1
        counts[str(row.cell(reason))] += times
    return counts


def _find_column(found: Listing, title: str) -> int:
    """Returns a column's index; an index after all cells if there is no such column."""
    titles = [column.name for column in found.columns]
    if title not in titles:
        return len(titles)
    return titles.index(title)


def _seconds(age: Any) -> int:
    """Returns the seconds of an age in kubectl's format, such as `3h5m`."""
    if not isinstance(age, str) or not _AGE.fullmatch(age):
        return _LAST
    parts = _PART.findall(age)
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)
