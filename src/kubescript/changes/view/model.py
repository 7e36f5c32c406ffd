"""The displayed parts of a plan, as data. `view` makes it from a plan's record; the page and `plain` render it."""

from __future__ import annotations

import dataclasses
from typing import Final

from kubescript.changes.store import record
from kubescript.changes.view.characters import Shown

__all__ = ["Change", "Finding", "Line", "Opinion", "Place", "Row", "Summary", "View", "Words"]

Words = tuple[str | Shown, ...]
"""A sentence: kubescript's own words, mixed with strings of the plan."""

ADDED: Final = "+"
REMOVED: Final = "\u2212"
CHANGED: Final = "~"


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One line of a value that is compared line by line."""

    sign: str
    """`ADDED`, `REMOVED`, or a space for an unchanged line."""
    text: Shown


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One field."""

    sign: str
    """`ADDED`, `REMOVED` or `CHANGED`."""
    path: Shown
    old: Shown | None
    new: Shown | None
    lines: tuple[Line, ...] = ()
    """The lines that replace `old` and `new` if one of them is long."""
    badges: tuple[str, ...] = ()
    """Remarks on the two values for the reader."""
    by_server: bool = False
    """Whether the API server adds the change."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A change that a finding is about."""

    change: int
    """The change's number."""
    target: Shown


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """A rule's finding on the changes about which it says the same."""

    number: int
    """The finding's index among all findings of the plan, from 0."""
    rule: Shown
    rule_id: str
    is_critical: bool
    message: Shown
    places: tuple[Place, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One request of the plan."""

    number: int
    """The request's position in the order of sending, from 1."""
    action: str
    """One of Create, Change, Replace, Delete, Evict and Send."""
    headline: Shown
    """`Change Deployment web in namespace shop`."""
    target: Shown
    turn: str
    """`second of 2 changes to this object`; empty if it is the only one."""
    request: Shown
    decisive: tuple[Row, ...]
    """Fields that decide what runs and with which rights; see `decisive`. No display closes them."""
    rows: tuple[Row, ...]
    """The other fields that change. No display closes them either."""
    server_rows: tuple[Row, ...]
    """The other fields that are new, and that the request does not name."""
    effects: tuple[Shown, ...]
    warnings: tuple[Shown, ...]
    findings: tuple[Finding, ...]
    state: record.StepState
    outcome: Shown
    """The request's result; empty before it has been sent."""

    @property
    def removes(self) -> bool:
        """Whether the request removes the object; then the object's fields are not listed as changes."""
        return self.action in {"Delete", "Evict"}

    @property
    def fields(self) -> int:
        """The number of fields, with those that the API server adds; 0 for a removal."""
        if self.removes:
            return 0
        return len(self.decisive) + len(self.rows) + len(self.server_rows)

    @property
    def counts(self) -> str:
        """How much there is to read: `3 fields, 2 set by the server`; empty for a removal about which there is no
        more."""
        parts = []
        if not self.removes:
            by_server = sum(row.by_server for row in (*self.decisive, *self.rows, *self.server_rows))
            parts.append(count(self.fields - by_server, "field"))
            if by_server:
                parts.append(f"{by_server:,} set by the server")
        if self.effects:
            parts.append(count(len(self.effects), "effect"))
        if self.findings:
            parts.append(count(len(self.findings), "finding"))
        if self.warnings:
            parts.append(count(len(self.warnings), "warning"))
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True, slots=True)
class Opinion:
    """One person's decision."""

    verdict: str
    """`approved`, `declined`, or `no longer approved`, since the person has lost the right."""
    approver: Shown
    channel: str
    at: str
    reason: Shown
    overrides: tuple[Shown, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """A plan's entry in a list."""

    id: str
    state: record.State
    title: str
    """The state in a few words."""
    sentence: Words
    """The plan's effect, its author, and its remaining time for approval."""
    opinions: tuple[Opinion, ...]
    created: str


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """A plan with its history, for display."""

    summary: Summary
    hash: str
    findings: tuple[Finding, ...]
    """Critical findings first."""
    changes: tuple[Change, ...]
    reads: tuple[Shown, ...]
    approvals: int
    """How many people must approve the plan."""
    outcome: Shown
    script: Shown
    runbook: tuple[Shown, ...] = ()
    """The runbook that has made all of the plan, and its arguments; empty if there is none."""

    @property
    def manner(self) -> str:
        """How the requests are sent, if the plan is approved."""
        return (
            "Each request is tried once more before it is sent. If it fails, or would do otherwise than shown, it and "
            "the rest are not sent. Rollouts are not waited for in between."
        )

    @property
    def critical(self) -> tuple[Finding, ...]:
        """The findings that block the plan unless the approver overrides them."""
        critical = [finding for finding in self.findings if finding.is_critical]
        return tuple(critical)

    @property
    def fields(self) -> int:
        """The number of fields in all changes."""
        return sum(change.fields for change in self.changes)

    @property
    def amount(self) -> str:
        """The extent of an approval: `5 changes (12 fields)`."""
        number = len(self.changes)
        changes = count(number, "change")
        if not self.fields:
            return changes
        fields = count(self.fields, "field")
        return f"{changes} ({fields})"


def count(number: int, noun: str) -> str:
    """Returns `1 field` or `1,200 fields`."""
    if number != 1:
        noun += "s"
    return f"{number:,} {noun}"
