"""Checks that a request still does what was shown of it, and has done it. `work` asks before and after it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript import errors
from kubescript.changes import attempt, plan
from kubescript.wire import inspection

__all__ = ["check", "check_cluster", "check_namespace", "check_sent"]

_SHOWN: Final = 5
"""How many fields are listed for a request whose effect has changed."""
# Attack: a value of several megabytes would be in the store, in the log and on each page.
_MAX_SHOWN: Final = 200


def check(step: plan.Step, changes: inspection.Changes, since: str = "since the plan was made") -> None:
    """Raises PlanError unless a step, as it was tried now, still does what was shown, to the same object. `since` says
    since when it may not."""
    shown = found = ""
    if step.precondition is not None:
        shown = step.precondition.uid
    if changes.before is not None:
        found = changes.before.uid
    # Changes of a status, or of fields that the plan does not touch, are no reason to stop.
    if found == shown and changes.digest == step.digest:
        return
    rows = _list_others(step, changes) or changes.rows
    what = f"the request would now change {_describe_rows(rows) or 'nothing'}"
    if found and shown and found != shown:
        what = "it is another object of that name"
    raise errors.PlanError(f"{step.target} has changed {since}: {what}", code="plan.changed")


def check_cluster(found: str, approved: plan.Plan) -> None:
    """Raises PlanError unless this is the identity of the cluster for which a plan was made."""
    if found != approved.cluster:
        raise errors.PlanError(
            "the plan was made for another cluster, or for another address of this one; run the script again",
            code="plan.changed",
        )


def check_namespace(step: plan.Step, made: str, now: inspection.Facts | None) -> None:
    """Raises PlanError unless the step's namespace now is the one of this uid, which the plan has made."""
    # Attack: another client deletes it, and makes one of that name in which pods may do more, before it is filled.
    if now is None or not made or now.uid != made:
        raise errors.PlanError(
            f"{step.target}: its namespace is not, or not certainly, the one that the plan has made",
            code="plan.changed",
        )


def check_sent(step: plan.Step, sent: attempt.Sent) -> None:
    """Raises PlanError if a step has done something else than what was shown."""
    # Attack: a webhook or a policy of the cluster changes real requests in another way than dry runs.
    if sent.changes is None or sent.changes.digest == step.digest:
        return
    what = _describe_rows(_list_others(step, sent.changes)) or "fields that were shown are as before"
    for denial in sent.denials:
        what += f"; {denial.rule}: {denial.reason}"
    known = {finding.rule for finding in step.findings}
    for notice in sent.notices:
        if notice.rule not in known:
            what += f"; {notice.level} {notice.rule}: {notice.message}"
    raise errors.PlanError(
        f"{step.what}: this was done, but otherwise than was shown: {what}",
        code="plan.changed",
        remedy="look at the object; a webhook or an admission policy changes real requests in another way than dry "
        "runs",
    )


def _list_others(step: plan.Step, changes: inspection.Changes) -> Sequence[inspection.Row]:
    """Returns the changes that were not shown of a step."""
    shown = {(row.path, row.new) for row in step.rows}
    return [row for row in changes.rows if (row.path, row.new) not in shown]


def _describe_rows(rows: Sequence[inspection.Row]) -> str:
    """Describes the first changes."""
    shown = []
    for row in rows[:_SHOWN]:
        old, new = _cut(row.old), _cut(row.new)
        shown.append(f"{_cut(row.path)}: {old} → {new}")
    return "; ".join(shown)


def _cut(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text[:_MAX_SHOWN]
