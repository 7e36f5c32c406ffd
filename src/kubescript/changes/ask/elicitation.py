"""Asks the person at the client whether a plan may be applied, applies it, and reports the outcome.

A client of the 2025 protocols is asked within the call: by a form, or by a link to the plan's page if the plan is too
large for one. Since 2026-07-28 the call ends with the question, and the client sends it again with the answer. A client
that cannot ask is told where a person can approve.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types
import msgspec

from kubescript import errors, types
from kubescript.changes import approval, plan
from kubescript.changes.ask import form, outcome, question, remembered
from kubescript.changes.store import record

__all__ = ["Asker", "Follow", "InAdvance", "Link"]

log = logging.getLogger(__name__)

_T = TypeVar("_T")
Follow = Callable[[record.Record, types.Caller, types.OnProgress | None], Awaitable[types.Answer | None]]
"""A function that follows a plan's rollouts to their end; returns None if the plan started none."""
_Reply = types.Answer | mcp_types.InputRequiredResult
"""The end of a call: its answer, or a question to which the client returns with another call."""
Link = Callable[[record.Record], str]
"""A function that returns a one-time link to a plan's page; an empty string if there is no page."""

_POLL_S: Final = 0.3
_USED_UP: Final = "plan.runbook"
"""The code of the error that a runbook was approved in advance often enough."""
_MAX_NAME: Final = 100
_OPEN: Final = frozenset({"pending", "approved", "applying"})
# Attack: waiting plans, or plans for a slow cluster, occupy all of the 40 threads that a process has by default, so
# that no other call gets an answer.
_LOOKING: Final = anyio.CapacityLimiter(8)
_APPLYING: Final = anyio.CapacityLimiter(32)


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


@dataclass(frozen=True, slots=True)
class _Matter:
    """A plan, and the call that is waiting for its end."""

    answer: types.Answer
    """The script's answer."""
    found: record.Record
    caller: types.Caller
    on_progress: types.OnProgress | None


@dataclass(frozen=True, slots=True)
class Asker:
    """The questions about one server's plans."""

    approvals: approval.Approvals
    follow: Follow
    quote: outcome.Quote
    link: Link
    has_page: Callable[[], bool]
    """Serves the page of the plans if possible, and returns whether there is one."""
    ask_s: float
    """How many seconds to wait for the person."""
    flags: str = ""
    """The flags with which a command finds this server's plans."""
    user: str = ""
    """The authenticated caller, if any."""
    as_author: bool = False
    """Whether plans are applied with the identity of their author, so that no other caller can approve them."""
    by_argument: bool = False
    """Whether the argument `approved` of a call approves its plan."""
    in_advance: InAdvance | None = None
    """The approvals in advance for the caller; None: there are none."""
    remembered: remembered.Remembered = field(default_factory=remembered.Remembered)
    """State from earlier calls."""

    def following(self, before: Asker) -> Asker:
        """Returns this asker with another asker's open questions."""
        return replace(self, remembered=before.remembered)

    async def settle(self, call: question.Call, answer: types.Answer) -> _Reply:
        """Returns a call's answer with the outcome of its plan, or the question for the person."""
        try:
            found = await _in_thread(self.approvals.get, answer.plan)
            matter = _Matter(answer, found, call.caller, call.on_progress)
            with _holding(call, answer, found):
                return await self._settle(call, matter)
        except errors.Busy as error:
            # There is no room for the script's answer either.
            bare = types.Answer("", plan=answer.plan)
            return await self._tell_failure(bare, error)
        except errors.KubescriptError as error:
            return await self._tell_failure(answer, error)

    async def resume(self, call: question.Call) -> types.Answer:
        """Returns the answer of a call that returns with a person's decision. Its script does not run again."""
        asked = question.read_state(call)
        answer = types.Answer("", plan=asked.plan)
        try:
            found = await _in_thread(self.approvals.get, asked.plan)
            caller = asked.check(call, found)
            answer = self.remembered.take(asked.plan) or answer
            response = question.read_response(call)
            matter = _Matter(answer, found, caller, call.on_progress)
            with _holding(call, answer, found):
                # Attack: a client that was asked by a link answers with a form's approval, although no form showed the
                # plan.
                if asked.is_link and response.action == "accept":
                    return await self._wait_for_end(matter)
                return await self._decide(matter, response)
        except errors.KubescriptError as error:
            return await self._tell_failure(answer, error)

    async def with_news(self, answer: types.Answer, caller: types.Caller) -> types.Answer:
        """Returns the answer, with the outcome of this session's earlier plans that were decided elsewhere."""
        if not self.remembered.is_waiting(caller.session):
            return answer
        try:
            unreported = await _in_thread(self.approvals.list_unreported, caller.session)
            for ended in unreported:
                answer = await self._tell_end(answer, ended)
                await _in_thread(self.approvals.report, ended.plan.id)
        except errors.KubescriptError as error:
            log.warning("plans: %s", error.message, extra=error.log_fields)
        return answer

    async def _decide_in_advance(self, matter: _Matter) -> tuple[_Matter, types.Answer | None]:
        """Returns the answer if the operator's settings approve the plan of a runbook. Otherwise the matter, whose
        answer then says which bound the plan breaks."""
        planned, bounds = matter.found.plan, self.in_advance
        if bounds is None or not bounds.concerns(planned):
            return matter, None
        breach = bounds.find_breach(planned)
        if not breach:
            decision, most = bounds.decide(planned), bounds.per_day(planned)
            try:
                return matter, await self._carry_out(matter, decision, most)
            except errors.PlanError as error:
                if error.code != _USED_UP:
                    raise
                breach = error.message
        await _in_thread(self.approvals.record_breach, planned, breach)
        text = f"{matter.answer.text}\nthis runbook's plan is not approved in advance: {breach}; a person decides"
        answer = replace(matter.answer, text=text.strip())
        return replace(matter, answer=answer), None

    async def _settle(self, call: question.Call, matter: _Matter) -> _Reply:
        matter, settled = await self._decide_in_advance(matter)
        if settled is not None:
            return settled
        if self.by_argument:
            return await self._decide_by_argument(call, matter)
        abilities = call.ctx.session.client_capabilities
        asks = abilities.elicitation if abilities is not None else None
        if asks is None:
            return await _in_thread(self._refer_elsewhere, matter)
        # In MCP, a client that names neither way of asking supports forms.
        if asks.form is not None or asks.url is None:
            composed = await _in_thread(form.compose, matter.found)
            if composed is not None:
                return await self._ask_by_form(call, matter, composed)
        if asks.url is not None:
            link = await _in_thread(self.link, matter.found)
            if link:
                return await self._ask_by_link(call, matter, link)
        return await _in_thread(self._refer_elsewhere, matter)

    async def _ask_by_form(self, call: question.Call, matter: _Matter, shown: form.Form) -> _Reply:
        if call.ends_with_question:
            params = mcp_types.ElicitRequestFormParams(message=shown.text, requested_schema=shown.schema)
            return self._end_with_question(call, matter, params)
        session = call.ctx.session
        asking = session.elicit_form(shown.text, shown.schema, related_request_id=call.ctx.request_id)
        response = await question.wait_for_response(asking, self.ask_s)
        return await self._decide(matter, response)

    async def _ask_by_link(self, call: question.Call, matter: _Matter, link: str) -> _Reply:
        name = uuid.uuid4().hex
        changes = outcome.changes(matter.found)
        text = f"Approve or decline {changes} of a script (plan {matter.found.plan.id})"
        if call.ends_with_question:
            params = mcp_types.ElicitRequestURLParams(message=text, url=link, elicitation_id=name)
            return self._end_with_question(call, matter, params)
        asking = call.ctx.session.elicit_url(text, link, name, related_request_id=call.ctx.request_id)
        response = await question.wait_for_response(asking, self.ask_s)
        if response.action != "accept":
            return await self._decide(matter, response)
        # If a link was accepted, it was only opened; the decision is made on the page.
        return await self._wait_for_end(matter)

    def _end_with_question(
        self,
        call: question.Call,
        matter: _Matter,
        params: mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams,
    ) -> mcp_types.InputRequiredResult:
        """Ends a call whose client asks on its own. The script's answer is kept, since the script does not run
        again."""
        plan_id = matter.found.plan.id
        self.remembered.keep(plan_id, matter.answer, call.budget)
        return question.end_call(call, plan_id, params)

    async def _decide(self, matter: _Matter, response: mcp_types.ElicitResult) -> types.Answer:
        planned = matter.found.plan
        given = form.read(planned, response.action, response.content or {})
        decision = record.Decision(
            approver=self._approver(matter.caller),
            channel="elicitation",
            approves=given.approves,
            hash=planned.hash,
            reason=given.reason,
            overrides=given.overrides,
            at=time.time(),
        )
        try:
            return await self._carry_out(matter, decision)
        except errors.PlanError as error:
            if error.code != "plan.override":
                raise
            return await _in_thread(self._tell_incomplete, matter, error)

    async def _decide_by_argument(self, call: question.Call, matter: _Matter) -> types.Answer:
        arguments = call.params.arguments or {}
        if arguments.get("approved") is not True:
            count = outcome.changes(matter.found)
            text = f"{count} tried, and nothing is made: it takes the argument approved=true"
            return outcome.add_words(matter.answer, text)
        decision = record.Decision(
            approver=self._approver(matter.caller),
            channel="argument",
            approves=True,
            hash=matter.found.plan.hash,
            at=time.time(),
        )
        return await self._carry_out(matter, decision)

    async def _carry_out(self, matter: _Matter, decision: record.Decision, most_a_day: int = 0) -> types.Answer:
        """Records a decision, and applies the plan if the decision approves it."""
        plan_id = matter.found.plan.id
        found = await _in_thread(self.approvals.decide, plan_id, decision, most_a_day)
        if found.state == "approved":
            report = _reporter(matter.on_progress)
            try:
                async with self.remembered.applying:
                    found = await _in_thread(self.approvals.apply, plan_id, report, limiter=_APPLYING)
            except errors.PlanLost:
                # Another server may go on with it.
                self._tell_later(matter.caller)
                raise
        matter = replace(matter, found=found)
        return await self._answer_end(matter)

    async def _wait_for_end(self, matter: _Matter) -> types.Answer:
        """Waits until a person has decided on the page and the plan has been applied."""
        found = matter.found
        with anyio.move_on_after(self.ask_s):
            while found.state in _OPEN:
                await anyio.sleep(_POLL_S)
                found = await _in_thread(self.approvals.get, found.plan.id)
        matter = replace(matter, found=found)
        if found.state == "pending":
            return await _in_thread(self._refer_elsewhere, matter)
        return await self._answer_end(matter)

    async def _answer_end(self, matter: _Matter) -> types.Answer:
        """Returns the answer with the end of its plan, and follows its rollouts."""
        ended, caller = matter.found, matter.caller
        answer = await self._tell_end(matter.answer, ended)
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

    def _tell_later(self, caller: types.Caller) -> None:
        """Has the session's next call tell how its plan ended."""
        if caller.lasts:
            self.remembered.wait(caller.session)

    def _approver(self, caller: types.Caller) -> str:
        """Returns the name under which a caller's decision is recorded."""
        name = form.line(caller.client, _MAX_NAME) or "without a name"
        client = f"client {name}, session {caller.session}"
        if not self.user:
            return client
        return f"{self.user}, {client}"

    async def _mark_reported(self, ended: record.Record) -> None:
        """Notes that the model knows the end of a plan."""
        try:
            await _in_thread(self.approvals.report, ended.plan.id)
        except errors.KubescriptError as error:
            # In this case the model is told twice.
            log.warning("plans: %s", error.message, extra=error.log_fields)

    async def _tell_end(self, answer: types.Answer, ended: record.Record) -> types.Answer:
        return await _in_thread(outcome.add_end, answer, ended, self.quote)

    async def _tell_failure(self, answer: types.Answer, error: errors.KubescriptError) -> types.Answer:
        return await _in_thread(outcome.add_failure, answer, error, self.quote)

    def _tell_incomplete(self, matter: _Matter, error: errors.PlanError) -> types.Answer:
        """Returns the answer about a plan that still waits, since an approval of it lacks a tick or the reason."""
        answer = outcome.add_words(
            matter.answer,
            f"error {error.code}: {error.message}. The approval does not count: it takes a tick at each critical "
            "finding, and a reason. The script asks again when it runs again",
        )
        if not self.as_author:
            answer = self._refer_elsewhere(replace(matter, answer=answer))
        return replace(answer, is_error=True, code=error.code)

    def _refer_elsewhere(self, matter: _Matter) -> types.Answer:
        """Returns the answer to a client that cannot ask a person."""
        answer, found, caller = matter.answer, matter.found, matter.caller
        if self.as_author:
            return outcome.add_words(
                answer,
                f"plan {found.plan.id}: nothing is changed, and nobody can approve this plan. It would be applied as "
                "its author, whose own client must ask for it in a form; it cannot, or the plan is too long or for "
                "several people. Make a smaller change, or give the user the kubectl command",
            )
        later = page = ""
        words = found.plan.id + self.flags
        if caller.lasts:
            self.remembered.wait(caller.session)
        else:
            # This client's later calls cannot be told from those of others.
            later = f"; `kubescript plans show {words}` then tells the user what became of it"
        if self.has_page():
            page = f", or open what `kubescript plans link {words}` prints,"
        waits = "waits" if len(found.plan.steps) == 1 else "wait"
        seconds = found.plan.expires - time.time()
        minutes = max(1, round(seconds / 60))
        count = outcome.changes(found)
        return outcome.add_words(
            answer,
            f"plan {found.plan.id}: {count} {waits} for a person's approval; nothing is changed yet. Tell "
            f"the user to run `kubescript approve {words}`{page} within {minutes} minutes{later}",
        )


@contextlib.contextmanager
def _holding(call: question.Call, answer: types.Answer, found: record.Record) -> Iterator[None]:
    """Counts an answer in its caller's budget while it waits for a person or for the end of its plan. Raises Busy."""
    budget = call.budget
    if budget is None:
        yield
        return
    # Attack: answers of 4 MiB wait for a person who never decides: 565 MiB in a minute.
    size = remembered.measure(answer) + 2 * len(msgspec.json.encode(found.plan))
    with budget.holding(size):
        yield


def _reporter(on_progress: types.OnProgress | None) -> Callable[[int, int, str], None]:
    """Returns a function that reports progress from the thread that applies a plan."""

    def report(done: int, count: int, text: str) -> None:
        if on_progress is not None:
            anyio.from_thread.run(on_progress, done, count, text)

    return report


async def _in_thread(work: Callable[..., _T], *args: Any, limiter: anyio.CapacityLimiter = _LOOKING) -> _T:
    return await anyio.to_thread.run_sync(work, *args, limiter=limiter, abandon_on_cancel=True)
