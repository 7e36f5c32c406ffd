"""The end of a plan whose call waits for it: the decision is recorded, the plan is applied, and the answer tells."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

import anyio

from kubescript import errors, types
from kubescript.changes import approval
from kubescript.changes.ask import matters, outcome, referrals, remembered, threads
from kubescript.changes.store import record

__all__ = ["Ends", "Follow"]

log = logging.getLogger(__name__)

Follow = Callable[[record.Record, types.Caller, types.OnProgress | None], Awaitable[types.Answer | None]]
"""A function that follows a plan's rollouts to their end; returns None if the plan started none."""

_POLL_S: Final = 0.3
_OPEN: Final = frozenset({"pending", "approved", "applying"})
_READY: Final = frozenset({"approved", "applying"})


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of one caller's plans."""

    approvals: approval.Approvals
    follow: Follow
    quote: outcome.Quote
    referral: referrals.Referral
    remembered: remembered.Remembered
    person: str
    """The caller, if authenticated: `user.User.person`."""
    brings_token: bool
    """Whether plans are applied with the token of their author's own call."""
    ask_s: float
    """How many seconds to wait for the person."""

    async def carry_out(self, matter: matters.Matter, decision: record.Decision, most_a_day: int = 0) -> types.Answer:
        """Records a decision, and applies the plan if the decision approves it. Raises KubescriptError."""
        plan_id = matter.found.plan.id
        try:
            found = await threads.look(self.approvals.decide, plan_id, decision, most_a_day)
        except errors.PlanError as error:
            if error.code != "plan.decided":
                raise
            # Someone was faster, or the client has brought the same answer to two replicas.
            found = await threads.look(self.approvals.get, plan_id)
            return await self.wait(replace(matter, found=found))
        matter = replace(matter, found=found)
        if found.state == "approved":
            return await self._apply(matter)
        return await self._answer(matter)

    async def _apply(self, matter: matters.Matter) -> types.Answer:
        """Applies an approved plan."""
        report = matters.reporter(matter.on_progress)
        try:
            async with self.remembered.applying:
                found = await threads.apply(self.approvals, matter.found.plan.id, report)
        except errors.PlanLost:
            # Another server may go on with it.
            self._tell_later(matter.caller)
            raise
        except errors.PlanError as error:
            if error.code != "plan.decided":
                raise
            # Another server was faster.
            return await self.wait(matter)
        return await self._answer(replace(matter, found=found))

    async def wait(self, matter: matters.Matter) -> types.Answer:
        """Waits until a person has decided on the page and the plan has been applied. Raises KubescriptError."""
        found = matter.found
        with anyio.move_on_after(self.ask_s):
            while found.state in _OPEN and not await self._is_ready(found):
                await anyio.sleep(_POLL_S)
                found = await threads.look(self.approvals.get, found.plan.id)
        matter = replace(matter, found=found)
        if await self._is_ready(found):
            return await self._apply(matter)
        if found.state == "pending":
            return await threads.look(self.referral.refer, matter)
        return await self._answer(matter)

    async def _answer(self, matter: matters.Matter) -> types.Answer:
        """Returns the answer with the end of its plan, and follows its rollouts."""
        ended, caller = matter.found, matter.caller
        answer = await threads.look(outcome.add_end, matter.answer, ended, self.quote)
        answer = replace(answer, applied=ended.state == "applied")
        if ended.state in _OPEN:
            # It needs another person's approval, or is being applied.
            self._tell_later(caller)
            return answer
        await self._mark_reported(ended)
        if ended.state == "stopped":
            return replace(answer, is_error=True, code="plan.failed")
        if ended.state != "applied":
            return answer
        rollouts = await self.follow(ended, caller, matter.on_progress)
        if rollouts is None:
            return answer
        return outcome.add_answer(answer, rollouts)

    async def _is_ready(self, found: record.Record) -> bool:
        """Says whether a plan waits for this call's token: it is approved, or its server has died."""
        if not self.brings_token or found.state not in _READY:
            return False
        ready = await threads.look(self.approvals.list_ready, self.person)
        return found.plan.id in ready

    def _tell_later(self, caller: types.Caller) -> None:
        """Has the session's next call tell how its plan ended."""
        if caller.lasts:
            self.remembered.wait(caller.session)

    async def _mark_reported(self, ended: record.Record) -> None:
        """Notes that the model knows the end of a plan."""
        try:
            await threads.look(self.approvals.report, ended.plan.id)
        except errors.KubescriptError as error:
            # In this case the model is told twice.
            log.warning("plans: %s", error.message, extra=error.log_fields)
