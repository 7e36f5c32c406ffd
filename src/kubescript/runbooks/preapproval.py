"""Which plans of runbooks are approved in advance, by the operator's settings: all of the plan must be within bounds.

The bound that a plan breaks is named in the operator's own words, without a value of the plan: a name that a script has
chosen, perhaps from the cluster, must not read as kubescript's words.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kubescript import config
from kubescript.auth import access_rules, user
from kubescript.changes import plan
from kubescript.changes.rules import effects, writes
from kubescript.changes.store import record

__all__ = ["PreApproval"]


class PreApproval:
    """The approvals in advance for one caller."""

    def __init__(self, approved: Mapping[str, config.PreApproved], caller: user.User, context: str = "") -> None:
        """`context` is the name of the cluster whose
        plans do not name it; empty where clusters have no names."""
        self._approved = approved
        self._context = context
        self._caller = caller

    def concerns(self, planned: plan.Plan) -> bool:
        """Says whether the operator approves this plan's runbook in advance, within whatever bounds."""
        return bool(planned.runbook) and planned.runbook.name in self._approved

    def find_breach(self, planned: plan.Plan) -> str:
        """Returns the bound that a plan of such a runbook breaks, in words; empty if it is within all of them."""
        assert planned.runbook
        bounds = self._approved[planned.runbook.name]
        return next(self._breaches(bounds, planned), "")

    def per_day(self, planned: plan.Plan) -> int:
        """Returns how many plans of the runbook may be approved so in 24 hours."""
        assert planned.runbook
        return self._approved[planned.runbook.name].per_day

    def decide(self, planned: plan.Plan) -> record.Decision:
        """Returns the approval of a plan that is within its bounds."""
        used = planned.runbook
        assert used
        return record.Decision(
            approver=f"runbook {used.name} (sha256 {used.sha256})",
            channel="runbook",
            approves=True,
            hash=planned.hash,
            reason="approved in advance by the operator, within bounds",
            at=time.time(),
        )

    def _breaches(self, bounds: config.PreApproved, planned: plan.Plan) -> Iterator[str]:
        """Yields the bounds that a plan breaks."""
        if not access_rules.is_for(bounds, self._caller):
            yield "it is approved for other callers (users, issuer, groups)"
        if planned.approvals != 1:
            yield f"it needs the approval of {planned.approvals} people"
        # Attack: a caller who may use one of the server's clusters makes plans that name none.
        context = planned.context or self._context
        if (context or bounds.contexts) and context not in bounds.contexts:
            yield f"the cluster is none of {_list(bounds.contexts)} (contexts)"
        if planned.critical:
            yield "there is a critical finding"
        for step in planned.steps:
            yield from _breaches_of(bounds, step)


def _breaches_of(bounds: config.PreApproved, step: plan.Step) -> Iterator[str]:
    """Yields the bounds that one change breaks."""
    if not writes.is_in_scope(step.namespace, bounds.namespaces):
        yield f"a namespace is none of {_list(bounds.namespaces)} (namespaces)"
    if step.full_resource not in bounds.kinds:
        yield f"a changed object is none of {_list(bounds.kinds)} (kinds)"
    if not _verbs(step) <= set(bounds.verbs):
        yield f"a change is none of {_list(bounds.verbs)} (verbs)"
    changed = [row.path for row in step.rows if not row.by_server]
    if bounds.fields and not all(_is_in_fields(path, bounds.fields) for path in changed):
        yield f"a changed field is none of {_list(bounds.fields)} (fields)"
    yield from _breaches_of_counts(bounds, step)
    yield from _breaches_of_removal(bounds, step)


def _breaches_of_removal(bounds: config.PreApproved, step: plan.Step) -> Iterator[str]:
    """Yields the bounds that objects break which are removed along with a change's own."""
    # Attack: somebody makes the object that a runbook deletes the owner of a Secret.
    gone = {each.gone for each in step.affected} - {""}
    if not gone <= set(bounds.kinds):
        yield f"a deletion takes more along, or may, than {_list(bounds.kinds)} (kinds)"
    if step.reach is None or (step.removes and step.is_namespace):
        yield "what goes with a change outside namespaces may be in any namespace (namespaces)"


def _breaches_of_counts(bounds: config.PreApproved, step: plan.Step) -> Iterator[str]:
    """Yields the bound that a change's numbers of pods break. A removal, which leaves none, is a matter of `verbs`."""
    if bounds.replicas is None:
        if step.counts:
            yield "a number of replicas changes, for which there is no bound (replicas)"
        return
    least, most = bounds.replicas
    # A number that stays as it is counts too: a new template replaces as many pods.
    is_kept_within = step.replicas is msgspec.UNSET or least <= step.replicas <= most
    are_set_within = all(effects.is_count_within(text, least, most) for text in step.counts or ())
    if not is_kept_within or not are_set_within:
        yield f"a number of replicas is not between {least} and {most} (replicas)"


def _is_in_fields(path: str, fields: Sequence[str]) -> bool:
    """Says whether a field is one of these, or below one."""
    return any(path == field or path.startswith((f"{field}.", f"{field}[")) for field in fields)


def _verbs(step: plan.Step) -> set[str]:
    """Returns what a change does, in the words of `verbs`."""
    # An eviction is a create of pods/eviction.
    if step.removes:
        return {"delete"}
    # Attack: a server-side apply is a patch, and creates what is not there.
    if step.precondition is None:
        return {step.verb, "create"}
    return {step.verb}


def _list(names: Sequence[str]) -> str:
    return ", ".join(name or '""' for name in names) or "those that are named"
