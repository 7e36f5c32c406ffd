"""The safety rules' findings on the recorded changes. `kubescript audit rules` prints them."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kubescript.audit import recorded_changes
from kubescript.changes.rules.conduct import configuration, rules, transcript
from kubescript.output import sanitizing

__all__ = ["Judgement", "as_text", "judge"]


class Found(msgspec.Struct, frozen=True):
    """One finding, and the change that it concerns."""

    rule: str
    severity: configuration.Severity
    message: str
    time: str
    origin: str
    """The plan, script or tool of the change."""


class NotJudged(msgspec.Struct, frozen=True):
    """Changes that one rule could not judge."""

    rule: str
    changes: int
    missing: str


class Judgement(msgspec.Struct, frozen=True):
    """All rules' findings on a record."""

    changes: int
    findings: tuple[Found, ...]
    not_judged: tuple[NotJudged, ...]
    notes: tuple[str, ...] = ()
    """Notes about the configuration."""

    @property
    def is_critical(self) -> bool:
        """Whether there is a critical finding."""
        return any(found.severity == "critical" for found in self.findings)


def judge(
    records: Iterable[Mapping[str, Any]], settings: configuration.Configuration, *, planned: bool = False
) -> Judgement:
    """Returns the rules' findings on all sessions; with `planned`, also on plans that were not applied."""
    found: list[Found] = []
    unknown: collections.Counter[tuple[str, str]] = collections.Counter()
    count = 0
    for session in recorded_changes.sessions(records, planned=planned):
        count += len(session.changes)
        changes = transcript.Transcript(tuple(session.changes))
        report = rules.judge(changes, settings)
        for each in report.findings:
            time = session.times[each.change]
            origin = session.origins[each.change]
            found.append(Found(each.rule, each.severity, each.message, time, origin))
        for gap in report.gaps:
            unknown[gap.rule, gap.missing] += len(gap.changes)
    found.sort(key=lambda each: each.time)
    if count and _has_no_scope(settings):
        missing = "allowedNamespaces or allowedLabels of the configuration"
        unknown["SCOPE_ENFORCEMENT", missing] += count
    not_judged = [NotJudged(rule, number, missing) for (rule, missing), number in unknown.items()]
    return Judgement(count, tuple(found), tuple(not_judged), settings.notes)


def _has_no_scope(settings: configuration.Configuration) -> bool:
    """Says whether the rule about scope is on, and has nothing to judge by."""
    if settings.namespaces is not None or settings.labels:
        return False
    enabled = {rule.id for rule in settings.rules if rule.enabled}
    return "SCOPE_ENFORCEMENT" in enabled


def as_text(judgement: Judgement) -> str:
    """Returns the judgement in human-readable form, one line for each finding."""
    lines = []
    critical = 0
    for found in judgement.findings:
        critical += found.severity == "critical"
        about = f"{found.time} {found.origin} {found.severity} {found.rule}"
        lines.append(f"{about}: {found.message}")
    for gap in judgement.not_judged:
        number = _count(gap.changes, "change")
        lines.append(f"not judged: {gap.rule} of {number}; not known: {gap.missing}")
    lines += [f"note: {note}" for note in judgement.notes]
    total = _count(judgement.changes, "change")
    warnings = _count(len(judgement.findings) - critical, "warning")
    lines.append(f"{total}: {critical} critical, {warnings}")
    return "\n".join(map(sanitizing.printable, lines))


def _count(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 change`, `3 changes`."""
    if number != 1:
        noun += "s"
    return f"{number} {noun}"
