"""What one script did and did not get to see.

The broker counts here and the session tells it under the answer, so that an answer says what is missing even when the
script swallowed the error.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Final

from kubescript.broker import namespaces, pagination, records
from kubescript.output import fencing

__all__ = ["Summary"]

_MAX_NOTES: Final = 100
"""Distinct things a tally remembers; a hostile script could invent names for ever."""
_MAX_RECORDS: Final = 10_000
"""Records a tally keeps; far beyond the calls of a script, for `capture` makes more."""


@dataclass(slots=True)
class Summary:
    """What one script did and did not get to see. Several threads answer its calls at a time."""

    calls: int = 0
    bytes: int = 0
    pages: pagination.Pages = field(default_factory=pagination.Pages, compare=False)
    """Lists read page by page."""
    absences: namespaces.Absences = field(default_factory=namespaces.Absences, compare=False)
    """Namespaces it has listed."""
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    denied: dict[str, int] = field(default_factory=dict)
    """`list secrets (policy.denied_resource)` → how often."""
    failed: dict[str, int] = field(default_factory=dict)
    """`403 list nodes`, `cluster.timeout list pods` → how often."""
    warnings: dict[str, int] = field(default_factory=dict)
    """What the API server or the snapshot warned of."""
    absent: dict[str, int] = field(default_factory=dict)
    """Namespaces that were listed and do not exist."""
    redacted: dict[str, int] = field(default_factory=dict)
    """Kind of secret → how many values of it were masked."""
    told: list[str] = field(default_factory=list)
    """What the script was told when the policy denied a call, word by word: ours, whoever repeats it."""
    recalled: list[str] | None = None
    """What was noted when this script ran first; a replay notes that and nothing of its own."""
    journal: records.Journal = records.NOWHERE
    workload_text: bool = False
    """Whether the script has read what workloads write freely: logs or events."""
    kept: list[records.Record] = field(default_factory=list)
    """Every call, as it was recorded; bounded by the calls a script may make."""

    def keep(self, record: records.Record) -> None:
        """Remember a call."""
        if len(self.kept) < _MAX_RECORDS:
            self.kept.append(record)

    def tell(self, code: str, message: str) -> None:
        """Remember what the policy's words were."""
        if code.startswith("policy.") and len(self.told) < _MAX_NOTES:
            self.told.append(message)

    def found(self, kind: str) -> None:
        """Count a value that was masked."""
        self.note(self.redacted, kind)

    def note(self, notes: dict[str, int], text: str, times: int = 1) -> None:
        """Count `text` in one of them; new texts beyond the cap are dropped, known ones still counted."""
        with self.lock:
            if text in notes or len(notes) < _MAX_NOTES:
                notes[text] = notes.get(text, 0) + times

    def count(self, *, calls: int = 0, size: int = 0) -> None:
        """Count calls and bytes."""
        with self.lock:
            self.calls += calls
            self.bytes += size

    @property
    def source(self) -> fencing.Source:
        """The least trustworthy thing the script has read."""
        if self.workload_text:
            return "workload"
        return "cluster" if self.bytes else "nothing"
