"""The records of a plan: that it was made, who decided on it, and how its application ended.

The three records of a plan contain its id and its hash (as `plan_hash`: the chain reserves `hash`); its requests are
recorded as calls, with the id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
import orjson

from kubescript.audit import chain, recorded_changes
from kubescript.audit.script_records import TextFilter
from kubescript.changes import plan
from kubescript.changes.store import record as plan_record

__all__ = ["describe_application", "describe_breach", "describe_decision", "describe_plan", "describe_start"]

_MAX_STEPS: Final = 100
# A line may have 32 KiB.
_STEPS_BYTES: Final = 24 * 1024
"""How many bytes of JSON the steps of a record may take."""


def describe_plan(made: plan.Plan, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of a plan, without the fields that name its script."""
    steps = list(_steps(made.steps[:_MAX_STEPS], text_filter))
    return {
        "plan": made.id,
        # The chain reserves `hash`.
        "plan_hash": made.hash,
        "context": text_filter(made.context),
        "cluster": text_filter(made.cluster),
        "policy": made.policy,
        "audit": made.audit,
        "approvals": made.approvals,
        "runbook": _describe_runbook(made.runbook),
        "steps": steps,
        "more_steps": len(made.steps) - len(steps),
    }


def _describe_runbook(used: plan.Runbook | msgspec.UnsetType) -> dict[str, str] | None:
    """Returns which runbook has made a plan; its arguments are in the record of its run."""
    if not used:
        return None
    return {"name": used.name, "sha256": used.sha256}


def describe_decision(plan_id: str, decision: plan_record.Decision, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of one person's decision."""
    return {
        "type": "decision",
        "time": chain.now(),
        "plan": plan_id,
        "plan_hash": decision.hash,
        "approver": text_filter(decision.approver),
        "channel": decision.channel,
        "approves": decision.approves,
        "reason": text_filter(decision.reason),
        "overrides": list(decision.overrides),
    }


def describe_breach(planned: plan.Plan, breach: str, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of a runbook whose plan waits for a person, since it breaks a bound."""
    used = planned.runbook or plan.Runbook("")
    return {
        "type": "runbook",
        "time": chain.now(),
        "plan": planned.id,
        "plan_hash": planned.hash,
        "name": text_filter(used.name),
        "sha256": used.sha256,
        "arguments": {},
        "code": "runbook.bounds",
        "text": text_filter(breach),
    }


def describe_start(record: plan_record.Record, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of the start of a plan's application, which names the records of the plan, its approvals and
    earlier starts."""
    return {
        "type": "applying",
        "time": chain.now(),
        "plan": record.plan.id,
        "plan_hash": record.plan.hash,
        "audit": record.plan.audit,
        "place": text_filter(record.plan.audit_place),
        "decisions": [_describe_evidence(each.evidence, text_filter) for each in record.decisions if each.counts],
        "starts": [_describe_evidence(each, text_filter) for each in record.starts],
    }


def _describe_evidence(found: plan_record.Evidence | None, text_filter: TextFilter) -> dict[str, Any] | None:
    """Returns where a record stands; None for a decision that an older version has kept."""
    if found is None:
        return None
    return {"chain": found.chain, "seq": found.seq, "hash": found.hash, "place": text_filter(found.place)}


def describe_application(record: plan_record.Record, text_filter: TextFilter) -> dict[str, Any]:
    """Returns the record of the end of a plan's application."""
    return {
        "type": "applied",
        "time": chain.now(),
        "plan": record.plan.id,
        "plan_hash": record.plan.hash,
        "state": record.state,
        "text": text_filter(record.text),
        "steps": [{"state": step.state, "audit_id": step.audit_id} for step in record.steps[:_MAX_STEPS]],
        "more_steps": max(0, len(record.steps) - _MAX_STEPS),
        "starts": [_describe_evidence(each, text_filter) for each in record.starts],
    }


def _steps(steps: Sequence[plan.Step], text_filter: TextFilter) -> Iterator[dict[str, Any]]:
    """Yields the fields of each step, as long as there is room."""
    left = _STEPS_BYTES
    for position, step in enumerate(steps):
        # Room that a short step leaves is shared by those that follow.
        share = left // (len(steps) - position)
        fields = recorded_changes.fields_of(step, text_filter, share)
        left -= len(orjson.dumps(fields)) + 1
        if left < 0:
            return
        yield fields
