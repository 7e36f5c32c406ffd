"""Takes back what a plan has changed, by a plan of its own that a person approves like any other."""

from __future__ import annotations

from kubescript import cancellation, errors, types
from kubescript.broker import summary, writer
from kubescript.plans import calls, plan, planner, record

__all__ = ["make"]


def make(done: record.Record, cluster: writer.Writer, plans: planner.Planner, caller: types.Caller) -> plan.Plan:
    """Returns the reverse of what was applied of a plan, the last change first. Raises PlanError when nothing was
    applied, or a part of it cannot be taken back. Nobody can approve it before it is kept."""
    drafted = plans.begin()
    notes = summary.Summary(draft=drafted, session=caller.session)
    cancel = cancellation.Cancellation()
    steps = [step for step, each in zip(done.plan.steps, done.steps, strict=True) if each.state == "done"]
    for step in reversed(steps):
        if step.undo is None:
            raise errors.PlanError(f"{step.verb} {step.target} cannot be taken back", code="plan.no_undo")
        cluster.plan(calls.of(step, step.undo, notes, cancel), notes, cancel)
    made = plans.make(drafted, f"undo {done.plan.id}", caller, notes, lambda _context, found: [()] * len(found))
    if made is None:
        raise errors.PlanError(f"there is nothing to take back of plan {done.plan.id}", code="plan.no_undo")
    return made
