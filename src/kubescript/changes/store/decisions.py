"""Checks whether a person's answer to a plan is valid. The store calls this while it has the plan locked."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.store import record

__all__ = ["check", "lapse"]


def lapse(found: record.Record, lost: Sequence[record.Decision]) -> record.Record:
    """Returns a plan whose approvals among `lost` count no more."""
    kept = (msgspec.structs.replace(each, lapsed=each.lapsed or each in lost) for each in found.decisions)
    return msgspec.structs.replace(found, decisions=tuple(kept))


def check(found: record.Record, decision: record.Decision) -> None:
    """Checks whether this person may make this decision on a pending plan. Raises PlanError."""
    if decision.hash != found.plan.hash:
        raise errors.PlanError(
            f"plan {found.plan.id} is not the one that was shown, so the answer does not count; look at it again",
            code="plan.changed",
        )
    # The author of a plan, and someone who has approved it, may still decline it.
    if decision.approves:
        if decision.channel == "runbook":
            _check_runbook(found.plan)
        _check_approver(found, decision)
        _check_overrides(found.plan, decision)


def _check_runbook(planned: plan.Plan) -> None:
    """Raises PlanError for a plan that no setting can approve in advance."""
    if not planned.runbook or planned.approvals != 1 or planned.critical:
        raise errors.PlanError(f"plan {planned.id} takes a person's approval", code="plan.approver")


def _check_approver(found: record.Record, decision: record.Decision) -> None:
    """Raises PlanError when this person's approval does not count."""
    own = next((each for each in found.decisions if each.counts and _is_same(decision, each)), None)
    if own is not None:
        raise errors.PlanError(
            f"{own.approver} has approved plan {found.plan.id} already; it needs another person's approval",
            code="plan.approver",
        )
    # If several people must approve, the author cannot be one of them.
    author = found.plan.author
    if found.plan.approvals > 1 and _is_author(decision, author):
        raise errors.PlanError(
            f"{author.user or decision.approver} made plan {found.plan.id}; it needs the approval of "
            f"{found.plan.approvals} other people",
            code="plan.approver",
        )


def _is_same(decision: record.Decision, earlier: record.Decision) -> bool:
    """Says whether two decisions are one person's."""
    # Attack: one person decides in a client and on the page.
    if decision.identity is not None and earlier.identity is not None:
        return decision.identity.is_same_person(earlier.identity)
    return decision.approver == earlier.approver


def _is_author(decision: record.Decision, author: plan.Author) -> bool:
    """Says whether a decision's approver, such as `uid 1000 (alice)` or `client inspector, session 1f3a`, is the plan's
    author."""
    # In a terminal, a person is identified as a user of the operating system; in a client, by the client's session.
    names = {decision.approver, *decision.approver.split(", ")}
    is_same_session = bool(author.session) and f"session {author.session}" in names
    if decision.identity is not None and author.identity:
        return is_same_session or decision.identity.is_same_person(author.identity)
    return is_same_session or (bool(author.user) and author.user in names)


def _check_overrides(planned: plan.Plan, decision: record.Decision) -> None:
    """Raises PlanError unless all critical findings are overridden, with a reason."""
    critical = {finding.rule for finding in planned.critical}
    left = sorted(critical.difference(decision.overrides))
    if left:
        raise errors.PlanError(
            f"plan {planned.id} has critical findings that are not overridden: {', '.join(left)}", code="plan.override"
        )
    if critical and not decision.reason.strip():
        raise errors.PlanError(
            f"plan {planned.id} has critical findings; overriding them takes a reason", code="plan.override"
        )
