"""Asks the person at the client whether a plan may be applied, applies it, and says what came of it.

A client of the 2025 protocols is asked within the call: by a form, and by a link to the plan's page where the plan is
too much for one. Since 2026-07-28 the call ends with the question, and the client sends it again with the answer. A
client that can ask nobody is told where a person can approve.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types
import msgspec
from mcp.server import request_state
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from kubescript import errors, types
from kubescript.changes import approval
from kubescript.changes.ask import form, outcome, remembered
from kubescript.changes.store import record
from kubescript.changes.view import plain
from kubescript.transports import retained, scope_keys

__all__ = ["Asker", "Call", "Follow", "Link", "state_guard"]

log = logging.getLogger(__name__)

_T = TypeVar("_T")
Follow = Callable[[record.Record, types.Caller, types.OnProgress | None], Awaitable[types.Answer | None]]
"""Follows the rollouts that a plan has begun to their end; None when it has begun none."""
Link = Callable[[record.Record], str]
"""Returns a one-time link to a plan's page; empty where there is no page."""

_QUESTION: Final = "approval"
_MODERN: Final = "2026-07-28"
_MOST: Final = 4_000
"""Characters of a plan that a client's form shows. A longer one is decided on the page or in the terminal: what is not
shown cannot be approved."""
_MOST_RAW: Final = 25 * _MOST
"""Characters of its rows from which on a plan is not even made into text for a form. There are more of them than of the
text: of a long value, lines that stay are left out."""
_WIDTH: Final = 100
_POLL_S: Final = 0.3
_MAX_NAME: Final = 100
_STATE_S: Final = 86_400.0
"""Seconds for which the state of a question is valid: those of the longest plan. Most plans expire before."""
_OPEN: Final = frozenset({"pending", "approved", "applying"})
_LOOKING: Final = anyio.CapacityLimiter(8)
_APPLYING: Final = anyio.CapacityLimiter(32)
"""Attack: plans that wait, or whose cluster is slow, in all 40 threads that a process has by default; then nobody else
got an answer."""


class _Question(msgspec.Struct, frozen=True):
    """The state of a question with which a call has ended. It comes again with the answer."""

    plan: str
    session: str
    """Of the call: over HTTP it may be of that call alone."""
    call: str
    """Digest of the call."""
    is_link: bool


# Made before there are threads: two that decode into a type for the first time at once can crash msgspec 0.22.
_STATE: Final = msgspec.json.Decoder(_Question)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, by whoever sent it."""

    ctx: ServerRequestContext[Any, Any]
    params: mcp_types.CallToolRequestParams
    caller: types.Caller
    on_progress: types.OnProgress | None


def state_guard(name: str) -> request_state.RequestStateBoundary:
    """Returns what seals the state of a question, so that no client can make one up."""
    security = request_state.RequestStateSecurity.ephemeral(ttl=_STATE_S)
    return request_state.RequestStateBoundary(security, default_audience=name)


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks about the plans of one server."""

    approvals: approval.Approvals
    follow: Follow
    quote: outcome.Quote
    link: Link
    has_page: Callable[[], bool]
    """Sees to it that there is a page of the plans, and says whether there is one."""
    ask_s: float
    """Seconds to wait for the person."""
    flags: str = ""
    """With which a command finds the plans of this server."""
    user: str = ""
    """Who calls, where that is proven."""
    as_author: bool = False
    """Whether plans are applied as who has asked for them, so that nobody else can approve them."""
    by_argument: bool = False
    """Whether the argument `approved` of a call approves its plan."""
    remembered: remembered.Remembered = field(default_factory=remembered.Remembered)
    """What earlier calls have left."""

    def following(self, before: Asker) -> Asker:
        """Returns this asker with the questions that another one has asked."""
        return replace(self, remembered=before.remembered)

    async def settle(self, call: Call, answer: types.Answer) -> types.Answer | mcp_types.InputRequiredResult:
        """Returns the answer of a call with what became of its plan, or the question to the person."""
        try:
            found = await _in_thread(self.approvals.get, answer.plan)
            with _holding(call, answer, found):
                return await self._settled(call, answer, found)
        except errors.Busy as error:  # there is no room for what the script has answered either
            return await self._failed(types.Answer("", plan=answer.plan), error)
        except errors.KubescriptError as error:
            return await self._failed(answer, error)

    async def resumed(self, call: Call) -> types.Answer:
        """Returns the answer of a call that comes again with a person's decision. Its script does not run again."""
        params, caller = call.params, call.caller
        asked = _STATE.decode(params.request_state or "")  # no client can make one up: see `state_guard`
        answer = types.Answer("", plan=asked.plan)
        try:
            found = await _in_thread(self.approvals.get, asked.plan)
            # Attack: another session, or another script, that sends the state of this one.
            is_same_session = caller.session == asked.session or not caller.lasts
            if found.plan.author.session != asked.session or not is_same_session or asked.call != _digest(params):
                raise errors.PlanError("this approval belongs to another call", code="plan.session")
            caller = replace(caller, session=asked.session)
            answer = self.remembered.take(asked.plan) or answer
            response = (params.input_responses or {}).get(_QUESTION)
            if not isinstance(response, mcp_types.ElicitResult):
                raise errors.PlanError("the client sent no decision", code="plan.nobody")
            with _holding(call, answer, found):
                # Attack: a client that approves in words what was not shown in its form.
                if asked.is_link and response.action == "accept":
                    return await self._awaited(answer, found, caller, call.on_progress)
                return await self._decided(answer, found, response, caller, call.on_progress)
        except errors.KubescriptError as error:
            return await self._failed(answer, error)

    async def with_news(self, answer: types.Answer, caller: types.Caller) -> types.Answer:
        """Returns the answer, with what became of earlier plans of this session that were decided elsewhere."""
        if not self.remembered.is_waiting(caller.session):
            return answer
        try:
            for ended in await _in_thread(self.approvals.unreported, caller.session):
                answer = await self._told(answer, ended)
                await _in_thread(self.approvals.report, ended.plan.id)
        except errors.KubescriptError as error:
            log.warning("plans: %s", error.message, extra={"code": error.code, "remedy": error.remedy})
        return answer

    async def _settled(
        self, call: Call, answer: types.Answer, found: record.Record
    ) -> types.Answer | mcp_types.InputRequiredResult:
        if self.by_argument:
            return await self._by_argument(call, answer, found)
        abilities = call.ctx.session.client_capabilities
        asks = abilities.elicitation if abilities is not None else None
        if asks is None:
            return await _in_thread(self._elsewhere, answer, found, call.caller)
        text = await _in_thread(_in_form, found) if asks.form is not None or asks.url is None else ""
        if text:
            return await self._by_form(call, answer, found, text)
        link = await _in_thread(self.link, found) if asks.url is not None else ""
        if link:
            text = f"Approve or decline {outcome.changes(found)} of a script (plan {found.plan.id})"
            return await self._by_link(call, answer, found, text, link)
        return await _in_thread(self._elsewhere, answer, found, call.caller)

    async def _by_form(
        self, call: Call, answer: types.Answer, found: record.Record, text: str
    ) -> types.Answer | mcp_types.InputRequiredResult:
        if call.ctx.protocol_version >= _MODERN:
            question = mcp_types.ElicitRequestFormParams(message=text, requested_schema=form.SCHEMA)
            return self._question(call, answer, found, question, is_link=False)
        asking = call.ctx.session.elicit_form(text, form.SCHEMA, related_request_id=call.ctx.request_id)
        response = await self._response(asking)
        return await self._decided(answer, found, response, call.caller, call.on_progress)

    async def _by_link(
        self, call: Call, answer: types.Answer, found: record.Record, text: str, link: str
    ) -> types.Answer | mcp_types.InputRequiredResult:
        name = uuid.uuid4().hex
        if call.ctx.protocol_version >= _MODERN:
            opening = mcp_types.ElicitRequestURLParams(message=text, url=link, elicitation_id=name)
            return self._question(call, answer, found, opening, is_link=True)
        asking = call.ctx.session.elicit_url(text, link, name, related_request_id=call.ctx.request_id)
        response = await self._response(asking)
        if response.action != "accept":
            return await self._decided(answer, found, response, call.caller, call.on_progress)
        return await self._awaited(answer, found, call.caller, call.on_progress)

    def _question(
        self,
        call: Call,
        answer: types.Answer,
        found: record.Record,
        params: mcp_types.ElicitRequestFormParams | mcp_types.ElicitRequestURLParams,
        *,
        is_link: bool,
    ) -> mcp_types.InputRequiredResult:
        """Returns the end of a call whose client asks by itself, and sends the call again. The script does not run
        again, so its answer is kept."""
        self.remembered.keep(found.plan.id, answer, _budget(call.ctx))
        state = _Question(found.plan.id, call.caller.session, _digest(call.params), is_link)
        return mcp_types.InputRequiredResult(
            input_requests={_QUESTION: mcp_types.ElicitRequest(params=params)},
            request_state=msgspec.json.encode(state).decode(),
        )

    async def _response(self, asking: Awaitable[mcp_types.ElicitResult]) -> mcp_types.ElicitResult:
        """Waits for the person. No answer in time, and a client that cannot ask, decline."""
        try:
            with anyio.fail_after(self.ask_s):
                return await asking
        except TimeoutError:
            return mcp_types.ElicitResult(action="cancel")
        except MCPError as error:
            log.warning("the client did not ask: %s", error)
            return mcp_types.ElicitResult(action="cancel")
        except ValueError:  # the SDK's own check of the answer; its text quotes what the client has sent
            log.warning("the client's answer is not one of the protocol")
            return mcp_types.ElicitResult(action="cancel")

    async def _decided(
        self,
        answer: types.Answer,
        found: record.Record,
        response: mcp_types.ElicitResult,
        caller: types.Caller,
        on_progress: types.OnProgress | None,
    ) -> types.Answer:
        approves, reason = form.read(response.action, response.content or {})
        decision = record.Decision(
            approver=self._approver(caller),
            channel="elicitation",
            approves=approves,
            hash=found.plan.hash,
            reason=reason,
            at=time.time(),
        )
        return await self._carried_out(answer, found, decision, caller, on_progress)

    async def _by_argument(self, call: Call, answer: types.Answer, found: record.Record) -> types.Answer:
        if (call.params.arguments or {}).get("approved") is not True:
            count = outcome.changes(found)
            return outcome.said(answer, f"{count} tried, and nothing is made: it takes the argument approved=true")
        decision = record.Decision(
            approver=self._approver(call.caller),
            channel="argument",
            approves=True,
            hash=found.plan.hash,
            at=time.time(),
        )
        return await self._carried_out(answer, found, decision, call.caller, call.on_progress)

    async def _carried_out(
        self,
        answer: types.Answer,
        found: record.Record,
        decision: record.Decision,
        caller: types.Caller,
        on_progress: types.OnProgress | None,
    ) -> types.Answer:
        """Counts a decision, and applies the plan if that approves it."""
        decided = await _in_thread(self.approvals.decide, found.plan.id, decision)
        if decided.state == "approved":
            async with self.remembered.applying:
                report = _reporter(on_progress)
                decided = await _in_thread(self.approvals.apply, found.plan.id, report, limiter=_APPLYING)
        return await self._ended(answer, decided, caller, on_progress)

    async def _awaited(
        self,
        answer: types.Answer,
        found: record.Record,
        caller: types.Caller,
        on_progress: types.OnProgress | None,
    ) -> types.Answer:
        """Waits until somebody has decided on the page, and the plan is applied."""
        with anyio.move_on_after(self.ask_s):
            while found.state in _OPEN:
                await anyio.sleep(_POLL_S)
                found = await _in_thread(self.approvals.get, found.plan.id)
        if found.state == "pending":
            return await _in_thread(self._elsewhere, answer, found, caller)
        return await self._ended(answer, found, caller, on_progress)

    async def _ended(
        self,
        answer: types.Answer,
        ended: record.Record,
        caller: types.Caller,
        on_progress: types.OnProgress | None,
    ) -> types.Answer:
        """Returns the answer with the end of its plan, and follows what it has begun."""
        said = replace(await self._told(answer, ended), applied=ended.state == "applied")
        if ended.state in _OPEN:  # it needs another person's approval, or is being applied
            if caller.lasts:
                self.remembered.wait(caller.session)
            return said
        await self._reported(ended)
        if ended.state == "stopped":
            said = replace(said, is_error=True, code="plan.failed")
        if ended.state == "applied" and (followed := await self.follow(ended, caller, on_progress)) is not None:
            said = outcome.added(said, followed)
        return said

    def _approver(self, caller: types.Caller) -> str:
        client = f"client {form.line(caller.client, _MAX_NAME) or 'without a name'}, session {caller.session}"
        return f"{self.user}, {client}" if self.user else client

    async def _reported(self, ended: record.Record) -> None:
        """Notes that the model knows the end of a plan. Where that fails it hears of it twice."""
        try:
            await _in_thread(self.approvals.report, ended.plan.id)
        except errors.KubescriptError as error:
            log.warning("plans: %s", error.message, extra={"code": error.code, "remedy": error.remedy})

    async def _told(self, answer: types.Answer, ended: record.Record) -> types.Answer:
        return await _in_thread(outcome.ended, answer, ended, self.quote)

    async def _failed(self, answer: types.Answer, error: errors.KubescriptError) -> types.Answer:
        return await _in_thread(outcome.failed, answer, error, self.quote)

    def _elsewhere(self, answer: types.Answer, found: record.Record, caller: types.Caller) -> types.Answer:
        """Returns the answer to a client that can ask nobody."""
        if self.as_author:
            return outcome.said(
                answer,
                f"plan {found.plan.id}: nothing is changed, and nobody can approve this plan. It would be applied as "
                "its author, whose own client must ask for it in a form; it cannot, or the plan is too long, too "
                "critical or for several people. Make a smaller change, or give the user the kubectl command",
            )
        later = ""
        words = found.plan.id + self.flags
        if caller.lasts:
            self.remembered.wait(caller.session)
        else:  # nobody knows which of the later calls is this client's
            later = f"; `kubescript plans show {words}` then tells the user what became of it"
        page = f", or open what `kubescript plans link {words}` prints," if self.has_page() else ""
        waits = "waits" if len(found.plan.steps) == 1 else "wait"
        minutes = max(1, round((found.plan.expires - time.time()) / 60))
        count = outcome.changes(found)
        return outcome.said(
            answer,
            f"plan {found.plan.id}: {count} {waits} for a person's approval; nothing is changed yet. Tell "
            f"the user to run `kubescript approve {words}`{page} within {minutes} minutes{later}",
        )


def _budget(ctx: ServerRequestContext[Any, Any]) -> retained.Budget | None:
    """Returns the budget of who has sent a request; None over stdio."""
    part: retained.Part | None = ctx.request.scope.get(scope_keys.PART) if ctx.request is not None else None
    return part.budget if part is not None else None


@contextlib.contextmanager
def _holding(call: Call, answer: types.Answer, found: record.Record) -> Iterator[None]:
    """Within it, an answer that waits for a person, or for the end of its plan, counts in its caller's budget. Raises
    Busy."""
    budget = _budget(call.ctx)
    if budget is None:
        yield
        return
    # Attack: answers of 4 MiB whose person never decides: 565 MiB in a minute.
    with budget.holding(remembered.measure(answer) + 2 * len(msgspec.json.encode(found.plan))):
        yield


def _in_form(found: record.Record) -> str:
    """Returns what a form shows of a plan; empty when a form cannot decide about it."""
    rows = (row for step in found.plan.steps for row in step.rows)
    raw = sum(len(row.path) + len(row.old or "") + len(row.new or "") for row in rows)
    if found.plan.critical or found.plan.approvals != 1 or raw > _MOST_RAW:
        return ""
    text = plain.text(found, _WIDTH)
    return text if len(text) <= _MOST else ""


def _digest(params: mcp_types.CallToolRequestParams) -> str:
    """Returns what tells one call from another: its tool and arguments."""
    call = json.dumps([params.name, params.arguments or {}], sort_keys=True)
    return hashlib.sha256(call.encode("utf-8", "surrogatepass")).hexdigest()


def _reporter(on_progress: types.OnProgress | None) -> Callable[[int, int, str], None]:
    """Returns a function that reports progress from the thread that applies a plan."""

    def report(done: int, count: int, text: str) -> None:
        if on_progress is not None:
            anyio.from_thread.run(on_progress, done, count, text)

    return report


async def _in_thread(work: Callable[..., _T], *args: Any, limiter: anyio.CapacityLimiter = _LOOKING) -> _T:
    return await anyio.to_thread.run_sync(functools.partial(work, *args), limiter=limiter, abandon_on_cancel=True)
