"""Asks the person at the client whether a plan may be applied, applies it, and reports the outcome.

A client of the 2025 protocols is asked within the call: by a form, or by a link to the plan's page if the plan is too
large for one. Since 2026-07-28 the call ends with the question, and the client sends it again with the answer. A client
that cannot ask is told where a person can approve.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import mcp_types
from mcp.shared.exceptions import MCPError

from kubescript import errors, types
from kubescript.auth import user
from kubescript.changes import approval, plan
from kubescript.changes.ask import (
    ends,
    form,
    in_advance,
    kept_answers,
    matters,
    news,
    outcome,
    question,
    referrals,
    remembered,
    threads,
)
from kubescript.changes.store import record

__all__ = ["Asker"]

log = logging.getLogger(__name__)

_Reply = types.Answer | mcp_types.InputRequiredResult
"""The end of a call: its answer, or a question to which the client returns with another call."""
_MAX_NAME: Final = 100
_LATE_S: Final = 3_600.0
"""For how many seconds after its plan has expired a question is known, so that its client hears of that."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The questions about one server's plans."""

    approvals: approval.Approvals
    follow: ends.Follow
    quote: outcome.Quote
    link: referrals.Link
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
    identity: plan.Identity | None = None
    """The caller, as plans name it."""
    label: str = ""
    """The caller's name in approvals."""
    brings_token: bool = False
    """Whether plans are applied with the token of their author's own call."""
    by_argument: bool = False
    """Whether the argument `approved` of a call approves its plan."""
    in_advance: in_advance.InAdvance | None = None
    """The approvals in advance for the caller; None: there are none."""
    remembered: remembered.Remembered = field(default_factory=remembered.Remembered)
    """State from earlier calls."""

    @property
    def news(self) -> news.News:
        """What has become of the caller's earlier plans."""
        return news.News(self.approvals, self.quote, self.remembered, self._person, self._principal)

    @property
    def _referral(self) -> referrals.Referral:
        """Where a person approves who is not asked here."""
        return referrals.Referral(
            self.link,
            self.has_page,
            self.has_lasting_page,
            self.flags,
            self.caller is not None,
            self.brings_token,
            self.remembered,
        )

    @property
    def _ends(self) -> ends.Ends:
        """How the caller's plans end."""
        return ends.Ends(
            self.approvals,
            self.follow,
            self.quote,
            self._referral,
            self.remembered,
            self._person,
            self.brings_token,
            self.ask_s,
        )

    @property
    def _person(self) -> str:
        return self.caller.person if self.caller is not None else ""

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
            matter = matters.Matter(answer, found, call.caller, call.on_progress)
            with matters.holding(call, matter):
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
            matter = matters.Matter(answer, found, caller, call.on_progress)
            with matters.holding(call, matter):
                return await self._resume(asked, matter, question.read_response(call))
        except errors.KubescriptError as error:
            if error.code == "plan.session":
                log.warning("a client's answer is refused: %s", error.message)
                raise MCPError(mcp_types.INVALID_PARAMS, "Invalid or expired requestState") from None
            return await self._tell_failure(answer, error)

    async def _resume(
        self, asked: record.Question, matter: matters.Matter, response: mcp_types.ElicitResult
    ) -> types.Answer:
        # The client may have brought its answer before, to a replica that has died since.
        is_decided = matter.found.state not in {"pending", "expired"}
        # Attack: a client that was asked by a link answers with a form's approval, although no form showed the plan.
        if is_decided or (asked.is_link and response.action == "accept"):
            return await self._ends.wait(matter)
        return await self._decide(matter, response)

    async def apply_ready(self, call: question.Call) -> str:
        """Applies the caller's plans that wait for this call's token. Returns why some could not be applied now."""
        if not self.brings_token:
            return ""
        return await self.news.apply(matters.reporter(call.on_progress))

    async def _settle(self, call: question.Call, matter: matters.Matter) -> _Reply:
        if self.in_advance is not None:
            matter, settled = await in_advance.decide(self.in_advance, matter, self._ends, self.approvals)
            if settled is not None:
                return settled
        if self.by_argument:
            return await self._decide_by_argument(call, matter)
        self.tell(matter.found)
        abilities = call.ctx.session.client_capabilities
        asks = abilities.elicitation if abilities is not None else None
        if asks is None:
            return await threads.look(self._referral.refer, matter)
        # In MCP, a client that names neither way of asking supports forms.
        if asks.form is not None or asks.url is None:
            composed = await threads.look(form.compose, matter.found)
            if composed is not None:
                return await self._ask_by_form(call, matter, composed)
        if asks.url is not None:
            link = await threads.look(self.link, matter.found)
            if link:
                return await self._ask_by_link(call, matter, link)
        return await threads.look(self._referral.refer, matter)

    async def _ask_by_form(self, call: question.Call, matter: matters.Matter, shown: form.Form) -> _Reply:
        if call.ends_with_question:
            params = mcp_types.ElicitRequestFormParams(message=shown.text, requested_schema=shown.schema)
            return await self._end_with_question(call, matter, params)
        session = call.ctx.session
        asking = session.elicit_form(shown.text, shown.schema, related_request_id=call.ctx.request_id)
        response = await question.wait_for_response(asking, self.ask_s)
        return await self._decide(matter, response)

    async def _ask_by_link(self, call: question.Call, matter: matters.Matter, link: str) -> _Reply:
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
        return await self._ends.wait(matter)

    async def _end_with_question(
        self,
        call: question.Call,
        matter: matters.Matter,
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

    async def _decide(self, matter: matters.Matter, response: mcp_types.ElicitResult) -> types.Answer:
        planned = matter.found.plan
        given = form.read(planned, response.action, response.content or {})
        decision = record.Decision(
            approver=self._approver(matter.caller),
            channel="elicitation",
            approves=given.approves,
            hash=planned.hash,
            reason=given.reason,
            overrides=given.overrides,
            identity=self.identity,
            at=time.time(),
        )
        try:
            return await self._ends.carry_out(matter, decision)
        except errors.PlanError as error:
            if error.code != "plan.override":
                raise
            return await threads.look(self._referral.tell_incomplete, matter, error)

    async def _decide_by_argument(self, call: question.Call, matter: matters.Matter) -> types.Answer:
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
            identity=self.identity,
            at=time.time(),
        )
        return await self._ends.carry_out(matter, decision)

    def _approver(self, caller: types.Caller) -> str:
        """Returns the name under which a caller's decision is recorded."""
        name = form.line(caller.client, _MAX_NAME)
        # Attack: a client's name goes on with another person's: `inspector, user bob`.
        client = f"client {json.dumps(name) if name else 'without a name'}, session {caller.session}"
        if self.caller is None:
            return client
        return f"{self.label}, {client}"

    async def _tell_failure(self, answer: types.Answer, error: errors.KubescriptError) -> types.Answer:
        return await threads.look(outcome.add_failure, answer, error, self.quote)
