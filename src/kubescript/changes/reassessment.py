"""Looks again at an approved plan when it is applied: what has changed since a person read it stops the plan.

A finding or a warning that was not shown stops it, and so does an effect that was not shown or has grown. What has
become less does not: the plan's own earlier steps remove objects, and others may have cleaned up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from kubescript import errors
from kubescript.broker import operation
from kubescript.changes import attempt, impact, plan, pods
from kubescript.cluster import timers

__all__ = ["Reassessment"]

_FRESH_S: Final = 1.0
"""For how many seconds a look at a whole plan counts for a deletion that is its first step."""
_OLD_S: Final = 5.0
"""For how many seconds such a look counts for a change."""
_OWN: Final = frozenset({"writes.new_registry", "writes.undone"})
"""Rules whose findings the plan's own earlier steps may be the reason for: they change autoscalers and remove pods."""
_SHOWN: Final = 5
"""How many differences one error lists."""


class Reassessment:
    """The second look at one plan, which knows the steps as they are now. Used by one thread."""

    def __init__(
        self, approved: plan.Plan, reach: Callable[[], impact.Assessor], operation: operation.Operation
    ) -> None:
        """`reach` returns what assesses steps in the plan's cluster as it is now, and raises like `work.Reach`."""
        self._shown = approved.steps
        # Findings and effects are made anew.
        self._now = [msgspec.structs.replace(step, findings=(), affected=()) for step in approved.steps]
        self._reach = reach
        self._operation = operation
        self._looked = -math.inf
        """When the plan was last looked at, on the monotonic clock."""
        self._next = 0
        """The step that is sent next; see `begin`."""

    def note(self, index: int, tried: attempt.Attempt) -> None:
        """Notes the state in which a dry run has found a step's object. Raises PlanError if the step now replaces pods
        in another way than was shown, if the API server warns of it, or if a rule now finds more in it or a later
        one."""
        shown, step = self._shown[index], self._now[index]
        # Attack: an apply by force takes fields from a manager that had none when the plan was made.
        _check(shown, msgspec.structs.replace(step, findings=tried.findings, warnings=tried.warnings))
        if tried.changes.before is None:
            return
        before = tried.changes.before
        old_pods, new_pods = pods.find(step.subresource, tried.changes)
        found = msgspec.structs.replace(
            step,
            labels=before.labels,
            images=before.images,
            state=before.state,
            orphans=before.orphans,
            pods=old_pods,
            new_pods=new_pods,
        )
        # The rules judge nothing else than the steps, so equal steps need no second judgement.
        if found == step:
            return
        self._check_replacement(index, found)
        self._now[index] = found
        judged = self._reach().judge(self._now)
        for shown, now in zip(self._shown[index:], judged[index:], strict=True):
            _check(shown, now)

    def look(self) -> None:
        """Looks at the whole plan, before anything of it is sent. Raises PlanError if a step now has effects, or
        findings on these, that were not shown. Raises KubescriptError if the cluster cannot be looked at."""
        self._looked = timers.uptime()
        found = self._reach().look(self._now, self._operation)
        for shown, now in zip(self._shown, found, strict=True):
            _check(shown, now)

    def begin(self, index: int) -> None:
        """Notes which step is tried and sent next. Those before it are done."""
        self._next = index

    def look_before_sending(self) -> None:
        """Looks again right before the next step is sent, unless the last look is recent enough. Raises like `look`."""
        index = self._next
        age = timers.uptime() - self._looked
        if not self._shown[index].removes:
            # Attack: the plan waits for minutes, or its server dies, and its rest means something else by then.
            if age > _OLD_S:
                self._look_at_rest()
        elif index or age > _FRESH_S:
            self._look_at_deletions(index)

    def _look_at_deletions(self, first: int) -> None:
        """Looks at the remaining deletions alone."""
        remaining = range(first, len(self._shown))
        indexes = [index for index in remaining if self._shown[index].removes]
        deletions = [self._now[index] for index in indexes]
        found = self._reach().look(deletions, self._operation)
        for index, now in zip(indexes, found, strict=True):
            # What is left of something also depends on the changes.
            affected = tuple(each for each in now.affected if each.left is None)
            _check(self._shown[index], msgspec.structs.replace(now, affected=affected))

    def _look_at_rest(self) -> None:
        """Looks at the remaining changes when others are done. Deletions are looked at right before they are sent."""
        self._looked = timers.uptime()
        # The script judges a plan as a whole: the pods of an earlier rollout count as if it were over.
        indexes = [index for index, step in enumerate(self._shown) if index >= self._next or not step.removes]
        steps = [self._now[index] for index in indexes]
        found = self._reach().look(steps, self._operation)
        for index, now in zip(indexes, found, strict=True):
            if index < self._next or now.removes:
                continue
            findings = tuple(finding for finding in now.findings if finding.rule not in _OWN)
            # The plan itself may have made an autoscaler or a budget.
            affected = tuple(each for each in now.affected if each.left is not None)
            _check(self._shown[index], msgspec.structs.replace(now, findings=findings, affected=affected))

    def _check_replacement(self, index: int, now: plan.Step) -> None:
        """Raises PlanError if a step replaces pods in another way than was shown."""
        # An earlier step of the plan may have set another way.
        if any(done.key == now.key for done in self._shown[: self._next]):
            return
        shown = self._shown[index]
        difference = pods.find_difference(shown, now)
        if difference:
            raise _differs(shown, difference)


def _check(shown: plan.Step, now: plan.Step) -> None:
    """Raises PlanError if a step has a finding, a warning or an effect that was not shown."""
    warnings = [f"the API server warns: {each}" for each in now.warnings if each not in shown.warnings]
    differences = [*_list_new_findings(shown, now), *warnings, *_list_new_effects(shown, now)]
    if not differences:
        return
    listed = "; ".join(differences[:_SHOWN])
    if len(differences) > _SHOWN:
        listed += f"; and {len(differences) - _SHOWN} more"
    raise _differs(shown, listed)


def _differs(shown: plan.Step, listed: str) -> errors.PlanError:
    return errors.PlanError(
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
    """Says whether two findings differ at most in their level, and in numbers that change by themselves."""
    if one.about or other.about:
        return (one.rule, one.about) == (other.rule, other.about)
    return (one.rule, one.message) == (other.rule, other.message)


def _list_new_effects(shown: plan.Step, now: plan.Step) -> Iterator[str]:
    """Yields the effects that were not shown, and those on more objects, or on other ones."""
    before = {each.what: each for each in shown.affected}
    for each in now.affected:
        known = before.get(each.what)
        if each.left is not None:
            # More may be taken than was shown, if more are there and as many are left.
            if each.count and (known is None or known.left is None or each.left < known.left):
                yield f"{each.what}: {each.left + each.count} → {each.left}"
        elif known is None:
            yield f"{each.what} ({each.count})"
        elif each.count > known.count:
            yield f"{each.what} ({each.count}, and {known.count} were shown)"
        elif not set(each.uids) <= set(known.uids):
            yield f"{each.what} (others than were shown)"
