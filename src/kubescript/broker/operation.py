"""Shared state of an operation's calls: those of one script, or of making, applying or undoing one plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from kubescript.broker import records, summary
from kubescript.kube import paths
from kubescript_sandbox.host import cancellation

__all__ = ["Draft", "Operation"]


class Draft(Protocol):
    """The writes that one script has tried, in order. The threads that answer its calls use it."""

    def add(self, attempt: Any, context: str) -> None:
        """Adds a write. Raises PlanError when it cannot be part of this plan."""

    def deletes(self, key: paths.Key, context: str) -> bool:
        """Says whether the script has planned the deletion of this object."""

    def warns_of(self, key: paths.Key, context: str, rule: str) -> bool:
        """Says whether a planned write about this object has a finding of a rule."""

    def creates_namespace(self, namespace: str, context: str) -> bool:
        """Says whether the script has planned the creation of this namespace."""

    def begin_sending(self, context: str) -> None:
        """Notes that a write is sent to a cluster without a plan. Raises PlanError when the script plans writes."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Limits, cancellation and results of the calls. Safe for use from several threads."""

    summary: summary.Summary = field(default_factory=summary.Summary)
    journal: records.Journal = records.NOWHERE
    cancellation: cancellation.Cancellation = field(default_factory=cancellation.Cancellation)
    owner: str = ""
    """Who has the limit of writes: the known caller, or the session of the client; empty for all clients without
    either."""
    reserve_s: float = 0.0
    """The last seconds of a script, in which it asks none of several clusters any more and returns what it has."""
    draft: Draft | None = None
    """The draft for writes that need a plan; if None, those writes are refused."""

    def aside(self) -> Operation:
        """Returns the operation for calls that kubescript itself makes: on the same record, but not in the notes."""
        return Operation(journal=self.journal, cancellation=self.cancellation)
