"""The plans of runbooks that the operator's settings approve, without a person."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from kubescript import errors, types
from kubescript.changes import approval, plan
from kubescript.changes.ask import ends, matters, threads
from kubescript.changes.store import record

__all__ = ["InAdvance", "decide"]

_USED_UP: Final = "plan.runbook"
"""The code of the error that a runbook was approved in advance often enough."""


class InAdvance(Protocol):
    """The plans that the operator's settings approve, without a person."""

    def concerns(self, planned: plan.Plan) -> bool:
        """Says whether a plan's runbook is approved in advance, within whatever bounds."""

    def find_breach(self, planned: plan.Plan) -> str:
        """Returns the bound that such a plan breaks, in the operator's words; empty if it is within all of them."""

    def per_day(self, planned: plan.Plan) -> int:
        """Returns how many plans of the runbook may be approved so in 24 hours."""

    def decide(self, planned: plan.Plan) -> record.Decision:
        """Returns the approval."""


async def decide(
    bounds: InAdvance, matter: matters.Matter, course: ends.Ends, approvals: approval.Approvals
) -> tuple[matters.Matter, types.Answer | None]:
    """Returns the answer if the operator's settings approve the plan of a runbook. Otherwise the matter, whose answer
    then says which bound the plan breaks. Raises KubescriptError."""
    planned = matter.found.plan
    if not bounds.concerns(planned):
        return matter, None
    breach = bounds.find_breach(planned)
    if not breach:
        decision, most = bounds.decide(planned), bounds.per_day(planned)
        try:
            return matter, await course.carry_out(matter, decision, most)
        except errors.PlanError as error:
            if error.code != _USED_UP:
                raise
            breach = error.message
    await threads.look(approvals.record_breach, planned, breach)
    text = f"{matter.answer.text}\nthis runbook's plan is not approved in advance: {breach}; a person decides"
    answer = replace(matter.answer, text=text.strip())
    return replace(matter, answer=answer), None
