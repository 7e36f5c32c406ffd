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
from typing import Final, Protocol

import anyio
import anyio.from_thread
import mcp_types
import msgspec
from mcp.shared.exceptions import MCPError

from kubescript import errors, types
from kubescript.auth import user
from kubescript.changes import approval, plan
from kubescript.changes.ask import form, kept_answers, news, outcome, question, remembered, threads
from kubescript.changes.store import questions, record

__all__ = ["Asker", "Follow", "InAdvance", "Link"]

log = logging.getLogger(__name__)

Follow = Callable[[record.Record, types.Caller, types.OnProgress | None], Awaitable[types.Answer | None]]
"""A function that follows a plan's rollouts to their end; returns None if the plan started none."""
_Reply = types.Answer | mcp_types.InputRequiredResult
"""The end of a call: its answer, or a question to which the client returns with another call."""
Link = Callable[[record.Record], str]
"""A function that returns a link to a plan's page; an empty string if there is no page."""

_POLL_S: Final = 0.3
_USED_UP: Final = "plan.runbook"
"""The code of the error that a runbook was approved in advance often enough."""
_MAX_NAME: Final = 100
_LATE_S: Final = 3_600.0
"""For how many seconds after its plan has expired a question is known, so that its client hears of that."""
_OPEN: Final = frozenset({"pending", "approved", "applying"})
_READY: Final = frozenset({"approved", "applying"})


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
    """Serves the local page of the plans if possible, and returns whether there is one."""
    has_lasting_page: Callable[[], bool]
    """Returns whether there is a page with a log-in."""
    tell: Callable[[record.Record], None]
    """Tells a team's chat of a plan that waits for a person."""
    ask_s: float
    """How many seconds to wait for the person."""
    flags: str = ""
    """The flags with which a command finds this server's plans."""
    caller: user.User | None = None
    """The authenticated caller, if any."""
    brings_token: bool = False
    """Whether plans are applied with the token of their author's own call."""
    by_argument: bool = False
    """Whether the argument `approved` of a call approves its plan."""
    in_advance: InAdvance | None = None
    """The approvals in advance for the caller; None: there are none."""
    remembered: remembered.Remembered = field(default_factory=remembered.Remembered)
    """State from earlier calls."""

    @property
    def news(self) -> news.News:
        """What has become of the caller's earlier plans."""
        return news.News(self.approvals, self.quote, self.remembered, self._person)

    @property
    def _person(self) -> str:
        return self.caller.person if self.caller is not None else ""

    @property
    def _account(self) -> str:
        return self.caller.account if self.caller is not None else ""

    @property
    def _principal(self) -> str:
        """Identifies the caller with the caller's rights: a caller with others does not answer this one's questions."""
        return self.caller.key if self.caller is not None else ""

    def following(self, before: Asker) -> Asker:
        """Returns this asker with another asker's open questions."""
        return replace(self, remembered=before.remembered)

    async def settle(self, call: question.Call, answer: types.Answer) -> _Reply:
        """Returns a call's answer with the outcome of its plan, or the question for the person."""
        try:
            found = await threads.look(self.approvals.get, answer.plan)
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
        """Returns the answer of a call that returns with a person's decision, to this replica or another one. Its
        script does not run again. Raises MCPError if it is no answer to a question of this call."""
        answer = types.Answer("")
        try:
            asked, kept = await threads.look(self.approvals.find_question, call.params.request_state)
            caller = question.check(asked, call, self._principal)
            answer = kept_answers.read(kept, asked.plan)
            found = await threads.look(self.approvals.get, asked.plan)
            matter = _Matter(answer, found, caller, call.on_progress)
            with _holding(call, answer, found):
                return await self._resume(asked, matter, question.read_response(call))
        except errors.KubescriptError as error:
            if error.code == "plan.session":
                log.warning("a client's answer is refused: %s", error.message)
                raise MCPError(mcp_types.INVALID_PARAMS, "Invalid or expired requestState") from None
            return await self._tell_failure(answer, error)

    async def _resume(
        self, asked: questions.Question, matter: _Matter, response: mcp_types.ElicitResult
    ) -> types.Answer:
        # The client may have brought its answer before, to a replica that has died since.
        is_decided = matter.found.state not in {"pending", "expired"}
        # Attack: a client that was asked by a link answers with a form's approval, although no form showed the plan.
        if is_decided or (asked.is_link and response.action == "accept"):
            return await self._wait_for_end(matter)
        return await self._decide(matter, response)

    async def with_news(self, answer: types.Answer, call: question.Call, problems: str = "") -> types.Answer:
        """Returns the answer, with the outcome of the caller's earlier plans that were decided elsewhere; `problems`
        are those of `apply_ready`."""
        if problems:
            answer = outcome.add_words(answer, problems.strip())
        return await self.news.add(answer, call.caller)

    async def apply_ready(self, call: question.Call) -> str:
        """Applies the caller's plans that wait for this call's token. Returns why some could not be applied now."""
        if not self.brings_token:
            return ""
        return await self.news.apply(_reporter(call.on_progress))

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
        await threads.look(self.approvals.record_breach, planned, breach)
        text = f"{matter.answer.text}\nthis runbook's plan is not approved in advance: {breach}; a person decides"
        answer = replace(matter.answer, text=text.strip())
        return replace(matter, answer=answer), None

    async def _settle(self, call: question.Call, matter: _Matter) -> _Reply:
        matter, settled = await self._decide_in_advance(matter)
        if settled is not None:
            return settled
        if self.by_argument:
            return await self._decide_by_argument(call, matter)
        self.tell(matter.found)
        abilities = call.ctx.session.client_capabilities
        asks = abilities.elicitation if abilities is not None else None
        if asks is None:
            return await threads.look(self._refer_elsewhere, matter)
        # In MCP, a client that names neither way of asking supports forms.
        if asks.form is not None or asks.url is None:
            composed = await threads.look(form.compose, matter.found)
            if composed is not None:
                return await self._ask_by_form(call, matter, composed)
        if asks.url is not None:
            link = await threads.look(self.link, matter.found)
            if link:
                return await self._ask_by_link(call, matter, link)
        return await threads.look(self._refer_elsewhere, matter)

    async def _ask_by_form(self, call: question.Call, matter: _Matter, shown: form.Form) -> _Reply:
        if call.ends_with_question:
            params = mcp_types.ElicitRequestFormParams(message=shown.text, requested_schema=shown.schema)
            return await self._end_with_question(call, matter, params)
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
            return await self._end_with_question(call, matter, params)
        asking = call.ctx.session.elicit_url(text, link, name, related_request_id=call.ctx.request_id)
        response = await question.wait_for_response(asking, self.ask_s)
        if response.action != "accept":
            return await self._decide(matter, response)
        # If a link was accepted, it was only opened; the decision is made on the page.
        return await self._wait_for_end(matter)

    async def _end_with_question(
        self,
        call: question.Call,
        matter: _Matter,
        params: mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams,
    ) -> mcp_types.InputRequiredResult:
        """Ends a call whose client asks on its own. The script's answer is kept, since the script does not run
        again. Raises PlanError."""
        is_link = isinstance(params, mcp_types.ElicitRequestURLParams)
        planned = matter.found.plan
        asked = question.describe(call, planned.id, self._principal, is_link=is_link)
        kept = kept_answers.write(matter.answer)
        until = planned.expires + _LATE_S
        token = await threads.look(self.approvals.keep_question, asked, self._person, kept, until)
        return question.end_call(token, params)

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
            account=self._account,
            at=time.time(),
        )
        try:
            return await self._carry_out(matter, decision)
        except errors.PlanError as error:
            if error.code != "plan.override":
                raise
            return await threads.look(self._tell_incomplete, matter, error)

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
            account=self._account,
            at=time.time(),
        )
        return await self._carry_out(matter, decision)

    async def _carry_out(self, matter: _Matter, decision: record.Decision, most_a_day: int = 0) -> types.Answer:
        """Records a decision, and applies the plan if the decision approves it."""
        plan_id = matter.found.plan.id
        try:
            found = await threads.look(self.approvals.decide, plan_id, decision, most_a_day)
        except errors.PlanError as error:
            if error.code != "plan.decided":
                raise
            # Someone was faster, or the client has brought the same answer to two replicas.
            found = await threads.look(self.approvals.get, plan_id)
            return await self._wait_for_end(replace(matter, found=found))
        matter = replace(matter, found=found)
        if found.state == "approved":
            return await self._apply(matter)
        return await self._answer_end(matter)

    async def _apply(self, matter: _Matter) -> types.Answer:
        """Applies an approved plan."""
        report = _reporter(matter.on_progress)
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
            return await self._wait_for_end(matter)
        return await self._answer_end(replace(matter, found=found))

    async def _wait_for_end(self, matter: _Matter) -> types.Answer:
        """Waits until a person has decided on the page and the plan has been applied."""
        found = matter.found
        with anyio.move_on_after(self.ask_s):
            while found.state in _OPEN and not await self._is_ready(found):
                await anyio.sleep(_POLL_S)
                found = await threads.look(self.approvals.get, found.plan.id)
        matter = replace(matter, found=found)
        if await self._is_ready(found):
            return await self._apply(matter)
        if found.state == "pending":
            return await threads.look(self._refer_elsewhere, matter)
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

    async def _is_ready(self, found: record.Record) -> bool:
        """Says whether a plan waits for this call's token: it is approved, or its server has died."""
        if not self.brings_token or found.state not in _READY:
            return False
        ready = await threads.look(self.approvals.list_ready, self._person)
        return found.plan.id in ready

    def _tell_later(self, caller: types.Caller) -> None:
        """Has the session's next call tell how its plan ended."""
        if caller.lasts:
            self.remembered.wait(caller.session)

    def _approver(self, caller: types.Caller) -> str:
        """Returns the name under which a caller's decision is recorded."""
        name = form.line(caller.client, _MAX_NAME) or "without a name"
        client = f"client {name}, session {caller.session}"
        if self.caller is None:
            return client
        return f"{self.caller.label}, {client}"

    async def _mark_reported(self, ended: record.Record) -> None:
        """Notes that the model knows the end of a plan."""
        try:
            await threads.look(self.approvals.report, ended.plan.id)
        except errors.KubescriptError as error:
            # In this case the model is told twice.
            log.warning("plans: %s", error.message, extra=error.log_fields)

    async def _tell_end(self, answer: types.Answer, ended: record.Record) -> types.Answer:
        return await threads.look(outcome.add_end, answer, ended, self.quote)

    async def _tell_failure(self, answer: types.Answer, error: errors.KubescriptError) -> types.Answer:
        return await threads.look(outcome.add_failure, answer, error, self.quote)

    def _tell_incomplete(self, matter: _Matter, error: errors.PlanError) -> types.Answer:
        """Returns the answer about a plan that still waits, since an approval of it lacks a tick or the reason."""
        answer = outcome.add_words(
            matter.answer,
            f"error {error.code}: {error.message}. The approval does not count: it takes a tick at each critical "
            "finding, and a reason. The script asks again when it runs again",
        )
        answer = self._refer_elsewhere(replace(matter, answer=answer))
        return replace(answer, is_error=True, code=error.code)

    def _refer_elsewhere(self, matter: _Matter) -> types.Answer:
        """Returns the answer to a client that cannot ask a person."""
        answer, found, caller = matter.answer, matter.found, matter.caller
        later = page = ""
        words = found.plan.id + self.flags
        if caller.lasts:
            self.remembered.wait(caller.session)
        elif self.caller is None:
            # This client's later calls cannot be told from those of others.
            later = f"; `kubescript plans show {words}` then tells the user what became of it"
        how = f"run `kubescript approve {words}`"
        if self.has_lasting_page():
            how = f"open {self.link(found)}"
        elif self.has_page():
            page = f", or open what `kubescript plans link {words}` prints,"
        if self.brings_token:
            later = "; your next call then applies it, with the user's own token"
        waits = "waits" if len(found.plan.steps) == 1 else "wait"
        seconds = found.plan.expires - time.time()
        minutes = max(1, round(seconds / 60))
        count = outcome.changes(found)
        return outcome.add_words(
            answer,
            f"plan {found.plan.id}: {count} {waits} for a person's approval; nothing is changed yet. Tell "
            f"the user to {how}{page} within {minutes} minutes{later}",
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
