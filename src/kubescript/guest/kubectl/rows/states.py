"""Finds the unhealthy rows of a list by their kind's columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows.listing import Listing, Row

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

    rows: list[Row]
    hidden: list[Row]
    unusual: int | None = None
    """The number of hidden unhealthy rows; None if the columns do not show it."""


class _Rule(NamedTuple):
    """A kind's criterion for unhealthy rows. `title` is the column that it needs."""

    title: str
    broken: Callable[[Cells], bool]


def choose(found: Listing, model: str, limit: int) -> Choice:
    """Returns all rows in order; if there are more than `limit`, chooses the unhealthy ones first."""
    if len(found.rows) <= limit:
        return Choice(found.rows, [])
    marks = _mark_broken(found, model)
    if marks is None:
        return Choice(found.rows[:limit], found.rows[limit:])
    broken: list[Row] = []
    others: list[Row] = []
    for row, is_broken in zip(found.rows, marks, strict=True):
        if is_broken:
            broken.append(row)
        else:
            others.append(row)
    ordered = broken + others
    unusual = max(0, len(broken) - limit)
    return Choice(ordered[:limit], ordered[limit:], unusual)


def _mark_broken(found: Listing, model: str) -> list[bool] | None:
    """Returns for each row whether it is unhealthy; None if the columns do not show it."""
    # If two columns have the same title, which a CRD may cause, the first one counts.
    titles: dict[str, int] = {}
    for place, column in enumerate(found.columns):
        titles.setdefault(column.name, place)
    rows = [_cells_by_title(row, titles) for row in found.rows]
    rule = _RULES.get(model)
    if rule and rule.title in titles:
        return [rule.broken(row) for row in rows]
    if "Ready" in titles and not model:
        return [row["Ready"] in _NOT_READY for row in rows]
    if "Status" in titles:
        return _mark_rare(rows)
    return None


def _cells_by_title(row: Row, titles: Mapping[str, int]) -> Cells:
    """Returns a row's cells by column title."""
    return {title: row.cell(place) for title, place in titles.items()}


def _mark_rare(rows: Sequence[Cells]) -> list[bool]:
    """Returns for each row whether its state differs from the most common one."""
    states = [str(row["Status"]) for row in rows]
    [(usual, _)] = Counter(states).most_common(1)
    return [state != usual for state in states]


def _is_broken_pod(row: Cells) -> bool:
    status = row["Status"]
    if status in _ENDED_WELL:
        return False
    return status != "Running" or _is_partly_ready(row)


def _is_partly_ready(row: Cells) -> bool:
    """Says whether the column Ready is a share below the whole, such as `1/2`."""
    ready = str(row.get("Ready"))
    share = _SHARE.fullmatch(ready)
    if share is None:
        return False
    return int(share[1]) < int(share[2])


def _is_below_desired(row: Cells) -> bool:
    """Says whether fewer objects are ready than desired."""
    ready = str(row.get("Ready"))
    desired = str(row.get("Desired"))
    if not (_NUMBER.fullmatch(ready) and _NUMBER.fullmatch(desired)):
        return False
    return int(ready) < int(desired)


def _other_than(*states: str) -> _Rule:
    """Returns the rule of a kind for which these states are healthy."""

    def is_other(row: Cells) -> bool:
        return row["Status"] not in states

    return _Rule("Status", is_other)


_RULES: Final[Mapping[str, _Rule]] = {
    "V1Pod": _Rule("Status", _is_broken_pod),
    "V1Deployment": _Rule("Ready", _is_partly_ready),
    "V1StatefulSet": _Rule("Ready", _is_partly_ready),
    "V1DaemonSet": _Rule("Ready", _is_below_desired),
    "V1ReplicaSet": _Rule("Ready", _is_below_desired),
    "V1Node": _other_than("Ready"),
    "V1Namespace": _other_than("Active"),
    "V1PersistentVolume": _other_than("Available", "Bound"),
    "V1PersistentVolumeClaim": _other_than("Bound"),
    "V1Job": _Rule("Status", lambda row: str(row["Status"]).startswith("Fail")),
    "CoreV1Event": _Rule("Type", lambda row: row["Type"] == "Warning"),
    "EventsV1Event": _Rule("Type", lambda row: row["Type"] == "Warning"),
}
"""Rules by model. Objects without one are compared with their kind's most common state."""
