"""What one script did and did not get to see, and the line under its answer that says so.

The broker counts here; the evaluator puts `notes` under the answer, even when the script swallowed the error: an empty
list must never look like a healthy cluster. A line that stands under every second answer is read by nobody.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kubescript import types
from kubescript.broker import namespaces, pagination, records
from kubescript.output import fencing

__all__ = ["Summary", "notes"]

_MAX_NOTES: Final = 100
"""Distinct texts that are remembered; a hostile script could invent names for ever."""
_MAX_RECORDS: Final = 10_000
"""Records that are kept; far beyond the calls of a script, for `capture` makes more."""
_VARIABLE_KINDS: Final = "env-"
"""Kinds of what is masked as the value of an environment variable, or where a text sets one."""
_MASK: Final = "\N{LEFT-POINTING DOUBLE ANGLE QUOTATION MARK}redacted:"
_LOOKS_AT_WHOLE_OBJECTS: Final = re.compile(
    r"(?i)env|\b(?:data|args|command|annotations|messages?)\b|\bvalues?\b(?!\()|to_?dict|to_?str\b|json|yaml|\b(?:str|repr|vars|isinstance)\(|\braw\b"
)
"""What a script says that looks where variables are, or at objects as a whole."""
_NAMESPACE: Final = re.compile(r"in namespace \S+")
_MANY_NAMESPACES: Final = 3
"""Namespaces from which on they are counted instead of named."""
_MAX_PHRASES: Final = 8
"""Things of a kind that are named."""


@dataclass(slots=True)
class Summary:
    """What one script did and did not get to see. Several threads answer its calls at a time."""

    calls: int = 0
    bytes: int = 0
    pages: pagination.Pages = field(default_factory=pagination.Pages, compare=False)
    """Lists read page by page."""
    listed_namespaces: namespaces.Namespaces = field(default_factory=namespaces.Namespaces, compare=False)
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
    denials: list[str] = field(default_factory=list)
    """What the script was told when the policy denied a call, word by word: ours, whoever repeats it."""
    replayed: list[str] | None = None
    """What was noted when this script ran first; a replay notes that and nothing of its own."""
    journal: records.Journal = records.NOWHERE
    workload_text: bool = False
    """Whether the script has read what workloads write freely: logs or events."""
    call_records: list[records.Record] = field(default_factory=list)
    """Every call, as it was recorded; bounded by the calls a script may make."""

    def add_record(self, record: records.Record) -> None:
        """Remember a call."""
        if len(self.call_records) < _MAX_RECORDS:
            self.call_records.append(record)

    def report_denial(self, code: str, message: str) -> None:
        """Remember what the policy's words were."""
        if code.startswith("policy.") and len(self.denials) < _MAX_NOTES:
            self.denials.append(message)

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


def notes(summary: Summary, script: str, outcome: types.Outcome) -> list[str]:
    """A phrase for each kind of thing that is missing."""
    if summary.replayed is not None:
        return summary.replayed
    kinds = (
        ("denied", summary.denied),
        ("failed", summary.failed),
        ("partial", summary.pages.notes()),
        ("no such namespace", summary.absent),
        ("warning", summary.warnings),
    )
    said = [f"{kind}: {_counted(texts)}" for kind, texts in kinds if texts]
    if summary.redacted and (_elsewhere(summary) or _LOOKS_AT_WHOLE_OBJECTS.search(script) or _masked(outcome)):
        said.append("redacted: " + ", ".join(f"{count} {kind}" for kind, count in sorted(summary.redacted.items())))
    return said


def _elsewhere(summary: Summary) -> bool:
    """Whether something was masked that is no variable of a container. Logs have variables anywhere."""
    return summary.workload_text or not all(kind.startswith(_VARIABLE_KINDS) for kind in summary.redacted)


def _masked(outcome: types.Outcome) -> bool:
    """Whether the answer holds a mask."""
    fault = outcome.fault.message if outcome.fault is not None else ""
    result = (outcome.result or b"").decode("utf-8", "replace")
    return any(_MASK in text or "\\u00abredacted" in text for text in (outcome.printed, fault, result))


def _counted(texts: Mapping[str, int]) -> str:
    """All of one kind: what differs in the namespace alone is one thing, and of many the first are named."""
    groups: dict[str, dict[str, int]] = {}
    for text, count in dict(texts).items():
        template = _NAMESPACE.sub("in {}", text, count=1)
        groups.setdefault(template, {})[text] = count
    phrases = []
    for template, group in groups.items():
        phrases += _phrases(template, group)
    named = phrases[:_MAX_PHRASES]
    if len(phrases) > len(named):
        named.append(f"and {len(phrases) - len(named)} more")
    return ", ".join(named)


def _phrases(template: str, group: Mapping[str, int]) -> list[str]:
    if len(group) < _MANY_NAMESPACES:
        return [text if count == 1 else f"{text} x{count}" for text, count in group.items()]
    return [template.replace("in {}", f"in {len(group)} namespaces", 1)]
