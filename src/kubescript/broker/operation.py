"""What the calls of one operation share: of one script, or of one plan that is made, applied or undone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from kubescript.broker import records, summary
from kubescript_sandbox.host import cancellation

__all__ = ["Draft", "Operation"]


class Draft(Protocol):
    """The writes that one script has tried, in their order. The threads that answer its calls use it."""

    def add(self, attempt: Any, context: str) -> None:
        """Writes a write down. Raises PlanError when it cannot be part of this plan."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What its calls may use, what ends them, and what they have shown. Several threads use it at the same time."""

    summary: summary.Summary = field(default_factory=summary.Summary)
    journal: records.Journal = records.NOWHERE
    cancellation: cancellation.Cancellation = field(default_factory=cancellation.Cancellation)
    session: str = ""
    """Of the client that has sent the script; empty for all clients that have none."""
    draft: Draft | None = None
    """Where writes are written down that need a plan; None: they are refused."""

    def aside(self) -> Operation:
        """Returns the operation for calls that kubescript makes by itself: on the same record, but not in the notes."""
        return Operation(journal=self.journal, cancellation=self.cancellation)
