"""Finds the unhealthy rows of a list by their kind's columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows import listing

__all__ = ["Choice", "choose"]

_ENDED_WELL: Final = ("Completed", "Succeeded")
_NOT_READY: Final = ("False", "Unknown")
# Attack: a custom resource has a cell with a million digits.
_SHARE: Final = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,9}", re.ASCII)

Cells = Mapping[str, Any]
"""A row's cells by column title."""


class Choice(NamedTuple):
    """The rows that fit in an answer, and those left out."""

    rows: list[listing.Row]
    hidden: list[listing.Row]
    unusual: int | None = None
    """The number of hidden unhealthy rows; None if the columns do not show it."""


class _Rule(NamedTuple):
    """A kind's criterion for unhealthy rows. `title` is the column that it needs."""

    title: str
    broken: Callable[[Cells], bool]


def choose(found: listing.Listing, model: str, limit: int) -> Choice:
    """Returns all rows in order; if there are more than `limit`, the unhealthy ones first."""
    if len(found.rows) <= limit:
        return Choice(found.rows, [])
    marks = _marks(found, model)
    if marks is None:
        return Choice(found.rows[:limit], found.rows[limit:])
    broken = [row for row, mark in zip(found.rows, marks, strict=True) if mark]
    others = [row for row, mark in zip(found.rows, marks, strict=True) if not mark]
    ordered = [*broken, *others]
    return Choice(ordered[:limit], ordered[limit:], max(0, len(broken) - limit))


def _marks(found: listing.Listing, model: str) -> list[bool] | None:
    """Returns whether each row is unhealthy; None if the columns do not show it."""
    titles: dict[str, int] = {}
    for place, column in enumerate(found.columns):
        titles.setdefault(column.name, place)
    rows = [{title: row.cell(place) for title, place in titles.items()} for row in found.rows]
    rule = _RULES.get(model)
    if rule and rule.title in titles:
        return [rule.broken(row) for row in rows]
    if "Ready" in titles and not model:
        return [row["Ready"] in _NOT_READY for row in rows]
    return _rare(rows) if "Status" in titles else None


def _rare(rows: Sequence[Cells]) -> list[bool]:
    states = [str(row["Status"]) for row in rows]
    [(usual, _)] = Counter(states).most_common(1)
    return [state != usual for state in states]


def _pod(row: Cells) -> bool:
    return row["Status"] not in _ENDED_WELL and (row["Status"] != "Running" or _partly_ready(row))


def _partly_ready(row: Cells) -> bool:
    share = _SHARE.fullmatch(str(row.get("Ready")))
    return share is not None and int(share[1]) < int(share[2])


def _below_desired(row: Cells) -> bool:
    numbers = [str(row.get(title)) for title in ("Ready", "Desired")]
    return all(map(_NUMBER.fullmatch, numbers)) and int(numbers[0]) < int(numbers[1])


def _other_than(*states: str) -> _Rule:
    return _Rule("Status", lambda row: row["Status"] not in states)


_RULES: Final[Mapping[str, _Rule]] = {
    "V1Pod": _Rule("Status", _pod),
    "V1Deployment": _Rule("Ready", _partly_ready),
    "V1StatefulSet": _Rule("Ready", _partly_ready),
    "V1DaemonSet": _Rule("Ready", _below_desired),
    "V1ReplicaSet": _Rule("Ready", _below_desired),
    "V1Node": _other_than("Ready"),
    "V1Namespace": _other_than("Active"),
    "V1PersistentVolume": _other_than("Available", "Bound"),
    "V1PersistentVolumeClaim": _other_than("Bound"),
    "V1Job": _Rule("Status", lambda row: str(row["Status"]).startswith("Fail")),
    "CoreV1Event": _Rule("Type", lambda row: row["Type"] == "Warning"),
    "EventsV1Event": _Rule("Type", lambda row: row["Type"] == "Warning"),
}
"""Rules by model. Objects without one are compared with their kind's most common state."""
