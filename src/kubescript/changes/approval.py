"""Decides on plans and applies them, for every channel by which a person is asked. Nothing counts that is not on
record.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from kubescript import errors
from kubescript.broker import records
from kubescript.changes import application, plan
from kubescript.changes.store import record

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["Approvals", "Ledger"]

log = logging.getLogger(__name__)

_KEPT_S: Final = 30 * 86_400.0
"""Seconds for which a plan that has ended can be looked at, and taken back."""
_NOT_OURS: Final = frozenset({"plan.policy", "plan.changed"})
"""Errors of a plan for another server's cluster, and of one that was changed in the store."""


class Ledger(Protocol):
    """The audit record, as far as plans write it."""

    def record_plan(self, new: plan.Plan) -> None:
        """Records a plan that no script has made. Raises AuditError."""

    def record_decision(self, plan_id: str, decision: record.Decision) -> None:
        """Records a decision, before it counts. Raises AuditError."""

    def record_application(self, ended: record.Record) -> None:
        """Records how an application ended. Raises AuditError."""

    def application(self, plan: str, user: str) -> records.Journal:
        """Returns the journal of the calls that apply a plan, on behalf of a user where there are several."""


class Approvals:
    """The decisions on the plans of one server. Many threads use it at once."""

    def __init__(
        self,
        plans: Callable[[], store.Store],
        applier: Callable[[], application.Applier],
        ledger: Ledger | None,
        user: str = "",
    ) -> None:
        """`user` is who decides, where that is proven."""
        self._user = user
        self._plans = plans
        self._applier = applier
        self._ledger = ledger
        self._left: set[str] = set()
        """Plans that this server cannot go on with, of which it has said so."""

    def get(self, plan_id: str) -> record.Record:
        """Returns a plan and what became of it. Raises PlanError."""
        return self._plans().get(plan_id)

    def newest(self, limit: int = 50) -> list[record.Record]:
        """Returns the newest plans. Raises PlanError."""
        return self._plans().newest(limit)

    def check(self, planned: plan.Plan) -> None:
        """Raises PlanError where an approval of the plan could not be carried out."""
        self._applier().check(planned)

    def decide(self, plan_id: str, decision: record.Decision) -> record.Record:
        """Records a decision and counts it. Raises PlanError when it does not count, and AuditError."""
        # An approval that cannot be carried out here would keep the plan waiting until it expires.
        if decision.approves:
            self._applier().check(self._plans().get(plan_id).plan)
        if self._ledger is not None:
            self._ledger.record_decision(plan_id, decision)
        return self._plans().decide(plan_id, decision)

    def apply(self, plan_id: str, report: application.Report) -> record.Record:
        """Applies an approved plan, or goes on with one whose server died. Raises KubescriptError when that is not
        possible; the message says what was applied."""
        journal = records.NOWHERE if self._ledger is None else self._ledger.application(plan_id, self._user)
        on_end = _record_nowhere if self._ledger is None else self._ledger.record_application
        return self._applier().apply(plan_id, journal, report, on_end)

    def list_unreported(self, session: str) -> list[record.Record]:
        """Returns the plans of a session that ended without its model's knowledge. Raises PlanError."""
        return self._plans().list_unreported(session)

    def report(self, plan_id: str) -> None:
        """Notes that the model knows how a plan has ended. Raises PlanError."""
        self._plans().report(plan_id)

    def recover(self) -> None:
        """Goes on with the plans whose server died while it applied them. Raises PlanError when the store fails."""
        for plan_id in self._plans().list_unfinished():
            if plan_id in self._left:
                continue
            try:
                ended = self.apply(plan_id, _untold)
                log.warning("plan %s, whose server had died: %s; %s", plan_id, ended.state, ended.text)
            except errors.KubescriptError as error:  # no reason to leave the other plans as they are
                if error.code in _NOT_OURS:
                    self._left.add(plan_id)
                log.warning("plan %s: %s", plan_id, error.message, extra={"code": error.code, "remedy": error.remedy})
            except Exception:  # a bug of ours: the thread must look again, and the other plans must not wait for it
                log.exception("plan %s", plan_id)

    def forget(self) -> None:
        """Forgets the plans that ended a month ago. Raises PlanError."""
        self._plans().prune(_KEPT_S)


def _untold(_done: int, _count: int, _text: str) -> None:
    """Reports no progress."""


def _record_nowhere(_ended: record.Record) -> None:
    """Keeps no record of an end: there is no audit."""
