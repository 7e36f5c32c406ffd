"""What the answers of the tools have in common: labels that are the same in all rows are told once, and times are as
short as their range permits."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk.objects import labelled, table
from kubescript.guest.sdk.values import timestamps
from kubescript.wire import messages

__all__ = ["cut", "describe", "iso", "split_labels", "time_format", "write", "write_time"]

_WIDTH: Final = 120
"""How many characters of a cell are shown."""

Labels = Mapping[str, str]


def split_labels(labels: Sequence[Labels]) -> tuple[Labels, list[str]]:
    """Returns the labels that are the same in all rows, and the names of the others in the order in which they first
    appear."""
    same = labelled.find_shared(labels)
    names = dict.fromkeys(name for each in labels for name in each)
    return same, [name for name in names if name not in same]


def write(titles: Sequence[str], rows: Sequence[Sequence[object]], same: Labels, *, tsv: bool = False) -> str:
    """Returns a table, after a line with the labels that are the same in all rows."""
    # Attack: a label with a line end adds a row.
    text = table.table(rows, [cells.line(title) for title in titles], width=_WIDTH, tsv=tsv)
    return f"{describe(same)}\n{text}" if same else text


def cut(text: str, message: str, left_out: int) -> str:
    """Returns the text, with this message about the rows that are left out, if any are."""
    return f"{text}\n{messages.text(message, count=left_out)}" if left_out > 0 else text


def describe(same: Labels) -> str:
    """Returns a line with the labels that are the same in all rows."""
    # Loki sends the labels of a stream in any order.
    labels = " ".join(cells.line(f"{name}={value}")[:_WIDTH] for name, value in sorted(same.items()))
    return messages.text("labels_shared", labels=labels)


def iso(seconds: float) -> str:
    """Returns a time in seconds since the epoch as ISO text, without fractions of a second."""
    return timestamps.format_time(_moment(seconds).replace(microsecond=0))


def time_format(first: float, last: float) -> str:
    """Returns the format of the times of a range: with the date only where it has several."""
    return "%H:%M:%S" if _moment(first).date() == _moment(last).date() else "%m-%dT%H:%M:%S"


def write_time(seconds: float, form: str) -> str:
    """Returns a time in seconds since the epoch in a format of `time_format`, in UTC."""
    return _moment(seconds).strftime(form)


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
