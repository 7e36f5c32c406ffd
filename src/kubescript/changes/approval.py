"""Decides on plans and applies them, for every channel through which a person is asked. Nothing takes effect
unrecorded."""

from __future__ import annotations

import contextlib
import logging
import shlex
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from kubescript import errors, types
from kubescript.broker import records
from kubescript.changes import application, plan, planner, progress, work
from kubescript.changes.store import record

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["Approvals", "Approvers", "Authors", "Ledger"]

log = logging.getLogger(__name__)

_NOBODY: Final = types.Caller()
_KEPT_S: Final = 30 * 86_400.0
"""For how many seconds a finished plan can be viewed and undone."""


class Ledger(planner.Audit, Protocol):
    """The part of the audit record that plans write."""

    def record_plan(self, new: plan.Plan) -> None:
        """Records a plan that no script made. Raises AuditError."""

    def takes(self, planned: plan.Plan) -> bool:
        """Says whether what becomes of a plan may be recorded here. Raises AuditError."""

    def record_decision(self, planned: plan.Plan, decision: record.Decision) -> record.Evidence:
        """Records a decision before it takes effect. Raises AuditError."""

    def record_breach(self, planned: plan.Plan, breach: str) -> None:
        """Records that a plan of a runbook is outside the bounds within which it is approved in advance. Raises
        AuditError."""

    def record_start(self, begun: record.Record) -> record.Evidence:
        """Records that a plan's application begins, or goes on, before anything of it is sent. Raises AuditError."""

    def record_application(self, ended: record.Record) -> None:
        """Records how an application ended. Raises AuditError."""

    def application(self, planned: plan.Plan, sender: types.Caller) -> records.Journal:
        """Returns the journal of the calls for a plan, with who makes them, if that is known."""


Authors = Callable[[plan.Identity], contextlib.AbstractContextManager["Approvals"]]
"""A function that yields an author's own approvals, under the settings in force. It raises PlanError (plan.author) when
the author may not plan any more, and KubescriptError."""
Approvers = Callable[[plan.Identity, plan.Plan], bool]
"""A function that says whether a person may approve a plan under the settings in force. It raises ConfigError."""


class Approvals:
    """The decisions on the plans of one server, or on one caller's. Safe for use from many threads."""

    def __init__(
        self,
        plans: Callable[[], store.Store],
        applier: Callable[[], application.Applier],
        ledger: Ledger | None,
        sent_as: types.Caller = _NOBODY,
        caller: plan.Identity | None = None,
        authors: Authors | None = None,
        tell: Callable[[record.Record], None] | None = None,
        approvers: Approvers | None = None,
    ) -> None:
        """`sent_as` is the user with whose identity plans are applied, if that is not the server's own, and `caller`
        the authenticated caller as plans name it. The plans of authenticated callers are applied by those that
        `authors` yields, whose own `authors` is None. `tell` is told of each plan that has ended, and raises
        nothing. `approvers` judges who has approved, where people are authenticated."""
        self._tell = tell if tell is not None else _record_nowhere
        self._sent_as = sent_as
        self._plans = plans
        self._applier = applier
        self._ledger = ledger
        self._caller = caller
        self._authors = authors
        self._approvers = approvers
        self._told: dict[str, str] = {}
        """What was last logged of each plan that this server could not continue."""

    def get(self, plan_id: str) -> record.Record:
        """Returns a plan and its outcome. Raises PlanError."""
        return self._plans().get(plan_id)

    def newest(self, limit: int = 50) -> list[record.Record]:
        """Returns the newest plans. Raises PlanError."""
        return self._plans().newest(limit)

    def check(self, planned: plan.Plan) -> None:
        """Raises PlanError if an approval of the plan could not be carried out."""
        self.check_record(planned)
        with self._of_author(planned) as own:
            own._applier().check(planned)

    def decide(self, plan_id: str, decision: record.Decision, most_a_day: int = 0) -> record.Record:
        """Records a decision and applies it to the plan; a runbook is approved in advance at most `most_a_day` times in
        24 hours. Raises PlanError if it is invalid, and AuditError if it cannot be recorded."""
        found = self.get(plan_id)
        decided = found.plan
        self.check_record(decided)
        # An approval that cannot be carried out by this server would block the plan until it expires.
        if decision.approves:
            self.check(decided)
        put_on_record = self._ledger.record_decision if self._ledger is not None else None
        found = self._plans().decide(
            plan_id, decision, put_on_record, work.LEASE_S, most_a_day=most_a_day, lost=self._list_lost(found)
        )
        if found.state == "declined":
            self._tell(found)
        return found

    def record_breach(self, planned: plan.Plan, breach: str) -> None:
        """Puts it on record that a runbook's plan waits for a person, and which bound it breaks. Raises AuditError."""
        if self._ledger is not None:
            self._ledger.record_breach(planned, breach)

    def apply(self, plan_id: str, report: work.Report) -> record.Record:
        """Applies an approved plan, or continues one whose server died. Raises KubescriptError when that is impossible;
        the message says what was applied."""
        found = self.get(plan_id)
        planned = found.plan
        self.check_record(planned)
        # Attack: another caller's request, with another token, applies it.
        if planned.author.brings_token and planned.author.person != self._person:
            raise errors.PlanError(f"plan {plan_id} is applied by the next call of its author", code="plan.author")
        with contextlib.ExitStack() as held:
            try:
                self._check_approvers(found)
                own = held.enter_context(self._of_author(planned))
            except errors.PlanError as error:
                ended = self._refuse(planned, error)
            else:
                # Attack: the author's next token says that the author may not use the cluster any more.
                if planned.author.brings_token and self._caller is not None and self._authors is not None:
                    own = held.enter_context(self._authors(self._caller))
                ended = own._apply(planned, report)
        self._tell(ended)
        return ended

    def _apply(self, planned: plan.Plan, report: work.Report) -> record.Record:
        """Applies a plan with the identity of these approvals. Raises KubescriptError."""
        journal = records.NOWHERE
        if self._ledger is not None:
            journal = self._ledger.application(planned, self._sent_as)
        return self._applier().apply(planned.id, journal, report, self._on_start, self._on_end)

    def _refuse(self, planned: plan.Plan, why: errors.PlanError) -> record.Record:
        """Ends a plan whose author or approver has lost the right to it. Raises PlanError for any other reason."""
        if why.code not in {"plan.author", "plan.approver", "plan.expired"}:
            raise why
        return self._applier().refuse(planned.id, why, self._on_end)

    @property
    def _person(self) -> str:
        return self._caller.caller.person if self._caller is not None else ""

    @property
    def _on_start(self) -> progress.Start:
        return self._ledger.record_start if self._ledger is not None else _record_nowhere

    @property
    def _on_end(self) -> progress.End:
        return self._ledger.record_application if self._ledger is not None else _record_nowhere

    @contextlib.contextmanager
    def _of_author(self, planned: plan.Plan) -> Iterator[Approvals]:
        """Yields the approvals that may carry out a plan: its author's, if the author is authenticated. Raises
        PlanError (plan.author) when the author may not plan any more, and KubescriptError."""
        if self._authors is None or not planned.author.identity:
            yield self
            return
        with self._authors(planned.author.identity) as own:
            yield own

    def _list_lost(self, found: record.Record) -> list[record.Decision]:
        """Returns the approvals by people who may not approve the plan any more. Raises ConfigError."""
        # Attack: a person who is no approver by now has approved a plan that waits for another approval.
        if self._approvers is None:
            return []
        approvals = [each for each in found.decisions if each.counts]
        return [each for each in approvals if each.identity and not self._approvers(each.identity, found.plan)]

    def _check_approvers(self, found: record.Record) -> None:
        """Raises PlanError (plan.approver) if a plan that nobody has begun to apply lacks an approval by now. Raises
        ConfigError."""
        lost = self._list_lost(found) if found.state == "approved" else ()
        if lost:
            raise errors.PlanError(f"{lost[0].approver} may not approve this plan any more", code="plan.approver")

    def check_record(self, planned: plan.Plan) -> None:
        """Raises PlanError unless all that this server does with the plan goes on the record that has the plan, or on
        that of another replica."""
        # Attack: a server without --audit takes over a plan and finishes it, and half of it is on no record.
        if self._ledger.takes(planned) if self._ledger is not None else not planned.audit:
            return
        ours = "none"
        if self._ledger is not None:
            ours = f"another one, {self._ledger.place}"
        what = f"{_record_of(planned)}, and this process has {ours}, so it neither decides on the plan nor applies it"
        raise errors.PlanError(what, code="plan.audit", remedy=_remedy(planned))

    def list_unreported(self, session: str, person: str = "", principal: str = "") -> list[record.Record]:
        """Returns the plans of a session, or of a person with these rights, that ended without the model's knowledge.
        See `Store.list_unreported`. Raises PlanError."""
        return self._plans().list_unreported(session, person, principal)

    def list_ready(self, person: str) -> list[str]:
        """Returns a person's plans that may be applied now. Raises PlanError."""
        return self._plans().list_ready(person)

    def keep_question(self, asked: record.Question, person: str, answer: bytes, expires: float) -> str:
        """Keeps a question with its script's answer; returns the token with which its client comes back. Raises
        PlanError."""
        return self._plans().questions.keep(asked, person, answer, expires)

    def find_question(self, token: str) -> tuple[record.Question, bytes]:
        """Returns the question of a token, and its script's answer. Raises PlanError."""
        return self._plans().questions.find(token)

    def report(self, plan_id: str) -> None:
        """Notes that the model knows how a plan ended. Raises PlanError."""
        self._plans().report(plan_id)

    def list_unfinished(self) -> dict[str, str]:
        """Returns the plans whose server died while applying them, and their authors, as the store does. Raises
        PlanError."""
        return self._plans().list_unfinished()

    def resume(self, plan_id: str) -> None:
        """Applies an approved plan that no caller waits for, or continues one whose server died. Logs what becomes of
        the latter, and why it is impossible."""
        try:
            found = self.get(plan_id)
            ended = self._resume(found)
            if ended is not None and found.state == "applying":
                log.warning("plan %s, whose server had died: %s; %s", plan_id, ended.state, ended.text)
        except errors.KubescriptError as error:
            # A plan is tried again every half minute, since its cluster may be missing for a moment.
            if self._told.get(plan_id) != error.message:
                self._told[plan_id] = error.message
                log.warning("plan %s: %s", plan_id, error.message, extra=error.log_fields)

    def _resume(self, found: record.Record) -> record.Record | None:
        """Applies a plan, or continues it; None for a plan that only its author's calls can continue. Raises
        KubescriptError."""
        if not found.plan.author.brings_token:
            return self.apply(found.plan.id, _untold)
        if found.state == "applying" and time.time() > found.plan.expires:
            self.check_record(found.plan)
            late = errors.PlanError("the plan expired, and its author has not called again", code="plan.expired")
            ended = self._refuse(found.plan, late)
            self._tell(ended)
            return ended
        return None

    def forget(self) -> None:
        """Forgets plans that ended a month ago. Raises PlanError."""
        self._plans().prune(_KEPT_S)


def _record_of(planned: plan.Plan) -> str:
    """Names the audit record that has a plan."""
    if not planned.audit:
        return f"plan {planned.id} is on no audit record"
    return f"plan {planned.id} is on the audit record {planned.audit_place} (id {planned.audit})"


def _remedy(planned: plan.Plan) -> str:
    """Says how a process gets the audit record that has a plan."""
    if not planned.audit:
        return "use the flags of the server that made it, which has no --audit"
    _, _, file = planned.audit_place.partition(":")
    return f"use the flags of the server that made it, among them --audit {shlex.quote(file)}"


def _untold(_done: int, _count: int, _text: str) -> None:
    """Reports no progress."""


def _record_nowhere(_found: record.Record) -> None:
    """Keeps no record of a start or an end, since there is no audit."""
