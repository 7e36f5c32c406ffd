"""Undoes a plan's changes, through another plan that a person approves like any other."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from kubescript import errors, types
from kubescript.broker import operation, records
from kubescript.changes import calls, plan, planner, writer
from kubescript.changes.store import record
from kubescript.request import json_body, request

__all__ = ["make"]


def make(
    done: record.Record,
    cluster: writer.Writer,
    plans: planner.Planner,
    caller: types.Caller,
    journal: records.Journal,
) -> plan.Plan:
    """Returns the reverse of a plan's applied steps, the last change first. Raises PlanError if nothing was applied, or
    if a part cannot be undone. The new plan cannot be approved before it is kept."""
    drafted = plans.begin()
    own = operation.Operation(draft=drafted, session=caller.session, journal=journal)
    pairs = list(zip(done.plan.steps, done.steps, strict=True))
    for step, application in reversed(pairs):
        if application.state == "done":
            reverse = _reverse(step, own)
            cluster.plan(reverse, own)
    made = plans.make(drafted, f"undo {done.plan.id}", caller, own)
    if made is None:
        raise errors.PlanError(f"there is nothing to take back of plan {done.plan.id}", code="plan.no_undo")
    return made


def _reverse(step: plan.Step, operation: operation.Operation) -> request.Request:
    """Returns the request that undoes a step. Raises PlanError if there is none."""
    if step.undo is None:
        raise errors.PlanError(
            f"{step.what} cannot be taken back, so nothing of the plan is; take back the rest by a "
            "script with a plan of its own",
            code="plan.no_undo",
        )
    call = calls.of(step, step.undo, operation)
    if call.verb == "patch":
        # A masking process has written this body. Attack: a compromised one adds operations that copy a secret.
        _, checked = json_body.check("PATCH", msgspec.Raw(call.body or b""), "json-patch")
        call = replace(call, body=checked)
    return call
