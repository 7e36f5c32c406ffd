"""Looks again at an approved plan when it is applied: what has changed since a person read it stops the plan.

A finding that was not shown stops it, and so does an effect that was not shown or has grown. What has become less does
not: the plan's own earlier steps remove objects, and others may have cleaned up.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec

from kubescript import errors
from kubescript.broker import operation
from kubescript.changes import attempt, impact, plan

__all__ = ["Reassessment"]

_FRESH_S: Final = 1.0
"""For how many seconds a look counts, except for deletions and for objects that the plan changes more than once."""
_SHOWN: Final = 5
"""How many differences one error lists."""


class Reassessment:
    """The second look at one plan, which knows the steps as they are now. Used by one thread."""

    def __init__(self, approved: plan.Plan, assessor: impact.Assessor, operation: operation.Operation) -> None:
        self._shown = approved.steps
        # Findings and effects are made anew.
        self._now = [msgspec.structs.replace(step, findings=(), affected=()) for step in approved.steps]
        self._assessor = assessor
        self._operation = operation
        self._looked_at = -_FRESH_S
        counts = Counter(step.key for step in approved.steps)
        self._repeated = {key for key, count in counts.items() if count > 1}

    def note(self, index: int, tried: attempt.Attempt) -> None:
        """Notes the state in which a dry run has found a step's object. Raises PlanError if a rule now finds more than
        was shown in this step or a later one."""
        step = self._now[index]
        notices = tuple(plan.Finding(one.rule, "warning", one.message) for one in tried.notices)
        _check(self._shown[index], msgspec.structs.replace(step, findings=notices))
        if tried.changes.before is None:
            return
        before = tried.changes.before
        found = msgspec.structs.replace(step, labels=before.labels, images=before.images, state=before.state)
        # The rules judge nothing else than the steps, so equal steps need no second judgement.
        if found == step:
            return
        self._now[index] = found
        judged = self._assessor.judge(self._now)
        for shown, now in zip(self._shown[index:], judged[index:], strict=True):
            _check(shown, now)

    def look(self, first: int = 0) -> None:
        """Raises PlanError if one of the steps from `first` on now has effects, or findings on these, that were not
        shown. Raises KubescriptError if the cluster cannot be looked at."""
        found = self._assessor.look(self._now[first:], self._operation)
        for shown, now in zip(self._shown[first:], found, strict=True):
            _check(shown, now)
        self._looked_at = time.monotonic()

    def look_before(self, index: int) -> None:
        """Like `look`, before a step is sent; does nothing if the last look is still fresh."""
        step = self._shown[index]
        always = step.removes or step.key in self._repeated
        if always or time.monotonic() - self._looked_at > _FRESH_S:
            self.look(index)


def _check(shown: plan.Step, now: plan.Step) -> None:
    """Raises PlanError if a step has a finding or an effect that was not shown."""
    differences = [*_list_new_findings(shown, now), *_list_new_effects(shown, now)]
    if not differences:
        return
    listed = "; ".join(differences[:_SHOWN])
    if len(differences) > _SHOWN:
        listed += f"; and {len(differences) - _SHOWN} more"
    raise errors.PlanError(
        f"{shown.what}: it now means more than was shown: {listed}",
        code="plan.changed",
        remedy="run the script again, and read the new plan",
    )


def _list_new_findings(shown: plan.Step, now: plan.Step) -> Iterator[str]:
    """Yields the findings that were not shown, or were only warnings."""
    for finding in now.findings:
        levels = {each.level for each in shown.findings if _is_same(each, finding)}
        if finding.level not in levels and "critical" not in levels:
            yield f"{finding.level} {finding.rule}: {finding.message}"


def _is_same(one: plan.Finding, other: plan.Finding) -> bool:
    """Says whether two findings differ at most in their level."""
    return one.rule == other.rule and one.message == other.message


def _list_new_effects(shown: plan.Step, now: plan.Step) -> Iterator[str]:
    """Yields the effects that were not shown, and those on more objects, or on other ones."""
    before = {each.what: each for each in shown.affected}
    for each in now.affected:
        known = before.get(each.what)
        if known is None:
            yield f"{each.what} ({each.count})"
        elif each.count > known.count:
            yield f"{each.what} ({each.count}, and {known.count} were shown)"
        elif not set(each.uids) <= set(known.uids):
            yield f"{each.what} (others than were shown)"
