"""What has become of a caller's earlier plans: the caller's next call tells it, on any replica."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import anyio

from kubescript import errors, types
from kubescript.changes import approval, work
from kubescript.changes.ask import outcome, remembered, threads
from kubescript.changes.store import record

__all__ = ["News"]

log = logging.getLogger(__name__)

# Attack: a store that does not answer holds up every call, although most calls have nothing to do with plans.
_LOOK_S: Final = 2.0
"""How many seconds a call waits for the store to say whether there is news."""
_REST_S: Final = 30.0
"""How many seconds pass until a store that has failed is asked again."""


@dataclass(frozen=True, slots=True)
class News:
    """The news for one caller."""

    approvals: approval.Approvals
    quote: outcome.Quote
    remembered: remembered.Remembered
    person: str
    """The caller, if authenticated: `user.User.person`."""
    principal: str
    """The caller with the caller's rights, if authenticated: `user.User.key`."""

    async def add(self, answer: types.Answer, caller: types.Caller) -> types.Answer:
        """Returns the answer, with the outcome of the caller's earlier plans that were decided elsewhere."""
        # Whoever is not authenticated is known by the session alone, which no other replica has.
        if not self.person and not self.remembered.is_waiting(caller.session):
            return answer
        ended = await self._look(self.approvals.list_unreported, caller.session, self.person, self.principal)
        try:
            for each in ended or ():
                if not self._is_for(each, caller):
                    continue
                answer = await threads.look(outcome.add_end, answer, each, self.quote)
                await threads.look(self.approvals.report, each.plan.id)
        except errors.KubescriptError as error:
            log.warning("plans: %s", error.message, extra=error.log_fields)
        return answer

    def _is_for(self, ended: record.Record, caller: types.Caller) -> bool:
        """Says whether this call tells of a plan, rather than the session that made it, which may still call."""
        author = ended.plan.author
        # Attack: a weak token of the person is told, in the cluster's words, of what a stronger one may see.
        if author.principal != self.principal:
            return False
        return author.session == caller.session or not self.remembered.is_waiting(author.session)

    async def apply(self, report: work.Report) -> str:
        """Applies the caller's approved plans with this call's token. Returns why some could not be applied now."""
        problems = ""
        for plan_id in await self._look(self.approvals.list_ready, self.person) or ():
            try:
                async with self.remembered.applying:
                    await threads.apply(self.approvals, plan_id, report)
            except errors.KubescriptError as error:
                log.warning("plan %s: %s", plan_id, error.message, extra=error.log_fields)
                # Another call of the author has it.
                if error.code != "plan.decided":
                    problems += f"\nplan {plan_id}: approved, and not applied by this call: error {error.code}"
        return problems.strip()

    async def _look(self, find: Callable[..., Any], *args: Any) -> Any:
        """Returns what the store says; None if it fails or does not answer soon."""
        if time.monotonic() < self.remembered.looks_from:
            return None
        found = None
        with anyio.move_on_after(_LOOK_S) as waiting:
            try:
                found = await threads.look(find, *args)
            except errors.KubescriptError as error:
                log.warning("plans: %s", error.message, extra=error.log_fields)
        if found is None or waiting.cancelled_caught:
            self.remembered.looks_from = time.monotonic() + _REST_S
        return found
