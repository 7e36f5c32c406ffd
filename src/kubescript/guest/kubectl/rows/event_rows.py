"""Sorts the rows of events for a reader who looks for a fault, and counts how often each fault occurred."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Final

from kubescript.guest.kubectl.rows import listing

__all__ = ["MODELS", "sort_rows", "warnings"]

MODELS: Final = ("CoreV1Event", "EventsV1Event")
_SECONDS: Final = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_AGE: Final = re.compile(r"(?:\d{1,9}[ydhms]){1,3}", re.ASCII)
_PART: Final = re.compile(r"(\d{1,9})([ydhms])", re.ASCII)
_LAST: Final = 10**18
"""The sort key of an event with an unknown time."""


def sort_rows(found: listing.Listing) -> listing.Listing:
    """Returns the rows with warnings first, and within each type the most recent first."""
    kind, seen = _place(found, "Type"), _place(found, "Last Seen")
    rows = sorted(found.rows, key=lambda row: (row.cell(kind) != "Warning", _seconds(row.cell(seen))))
    return found._replace(rows=rows)


def warnings(found: listing.Listing) -> Counter[str]:
    """Returns how often each warning's reason occurred: an event that was seen 40 times counts 40 times."""
    kind, reason, count = (_place(found, title) for title in ("Type", "Reason", "Count"))
    counts: Counter[str] = Counter()
    for row in found.rows:
        if row.cell(kind) == "Warning":
            times = row.cell(count)
            counts[str(row.cell(reason))] += times if isinstance(times, int) else 1
    return counts


def _place(found: listing.Listing, title: str) -> int:
    """Returns a column's index; one after all cells if there is no such column."""
    titles = [column.name for column in found.columns]
    return titles.index(title) if title in titles else len(titles)


def _seconds(age: Any) -> int:
    if not isinstance(age, str) or not _AGE.fullmatch(age):
        return _LAST
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(age))
