"""Takes back what a plan has changed, by a plan of its own that a person approves like any other."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from kubescript import errors, types
from kubescript.broker import operation, records
from kubescript.changes import calls, dependents, plan, planner, writer
from kubescript.changes.store import record
from kubescript.request import json_body, request

__all__ = ["make"]


def make(
    done: record.Record,
    cluster: writer.Writer,
    plans: planner.Planner,
    caller: types.Caller,
    run: dependents.Run,
    journal: records.Journal,
) -> plan.Plan:
    """Returns the reverse of what was applied of a plan, the last change first. Raises PlanError when nothing was
    applied, or a part of it cannot be taken back. It cannot be approved before it is kept."""
    drafted = plans.begin()
    own = operation.Operation(draft=drafted, session=caller.session, journal=journal)
    steps = [step for step, each in zip(done.plan.steps, done.steps, strict=True) if each.state == "done"]
    for step in reversed(steps):
        cluster.plan(_reverse(step, own), own)
    made = plans.make(drafted, f"undo {done.plan.id}", caller, own, run)
    if made is None:
        raise errors.PlanError(f"there is nothing to take back of plan {done.plan.id}", code="plan.no_undo")
    return made


def _reverse(step: plan.Step, operation: operation.Operation) -> request.Request:
    """Returns what takes a step back. Raises PlanError where nothing does."""
    if step.undo is None:
        raise errors.PlanError(
            f"{step.verb} {step.target} cannot be taken back, so nothing of the plan is; take back the rest by a "
            "script with a plan of its own",
            code="plan.no_undo",
        )
    call = calls.of(step, step.undo, operation)
    if call.verb == "patch":
        # A masking process has written it. Attack: one that was taken over, with operations that copy a secret.
        _, checked = json_body.check("PATCH", msgspec.Raw(call.body or b""), "json-patch")
        call = replace(call, body=checked)
    return call
