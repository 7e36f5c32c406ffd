"""Takes back what a plan has changed, by a plan of its own that a person approves like any other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from kubescript import errors, types
from kubescript.broker import records, summary
from kubescript.changes import calls, plan, planner, writer
from kubescript.changes.store import record
from kubescript.request import json_body, request
from kubescript_sandbox.host import cancellation

__all__ = ["Look", "make"]

Look = Callable[[summary.Summary, str, Sequence[plan.Step]], Sequence[tuple[str, ...]]]
"""See `planner.Look`; makes its notes in the summary."""


def make(
    done: record.Record,
    cluster: writer.Writer,
    plans: planner.Planner,
    caller: types.Caller,
    look: Look,
    journal: records.Journal,
) -> plan.Plan:
    """Returns the reverse of what was applied of a plan, the last change first. Raises PlanError when nothing was
    applied, or a part of it cannot be taken back. Nobody can approve it before it is kept."""
    drafted = plans.begin()
    notes = summary.Summary(draft=drafted, session=caller.session, journal=journal)
    cancel = cancellation.Cancellation()
    steps = [step for step, each in zip(done.plan.steps, done.steps, strict=True) if each.state == "done"]
    for step in reversed(steps):
        cluster.plan(_reverse(step, notes, cancel), notes, cancel)
    made = plans.make(drafted, f"undo {done.plan.id}", caller, notes, functools.partial(look, notes))
    if made is None:
        raise errors.PlanError(f"there is nothing to take back of plan {done.plan.id}", code="plan.no_undo")
    return made


def _reverse(step: plan.Step, notes: summary.Summary, cancel: cancellation.Cancellation) -> request.Request:
    """Returns what takes a step back. Raises PlanError where nothing does."""
    if step.undo is None:
        raise errors.PlanError(
            f"{step.verb} {step.target} cannot be taken back, so nothing of the plan is; take back the rest by a "
            "script with a plan of its own",
            code="plan.no_undo",
        )
    call = calls.of(step, step.undo, notes, cancel)
    if call.verb == "patch":
        # A masking process has written it. Attack: one that was taken over, with operations that copy a secret.
        _, checked = json_body.check("PATCH", msgspec.Raw(call.body or b""), "json-patch")
        call = replace(call, body=checked)
    return call
