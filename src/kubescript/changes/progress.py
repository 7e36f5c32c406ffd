"""The progress of one application of a plan: the state of each step, here and in the store, and how it ends."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from kubescript import errors
from kubescript.changes import replacement
from kubescript.changes.store import record
from kubescript.cluster import timers

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["DOUBTFUL", "End", "Progress", "Start"]

log = logging.getLogger(__name__)

Start = Callable[[record.Record], record.Evidence | None]
"""A function that records that an application begins or goes on; returns where, if there is an audit. Raises
AuditError."""
End = Callable[[record.Record], None]
"""A function that records how an application ended. Raises AuditError."""

DOUBTFUL: Final = frozenset({"sending", "unknown"})
"""The states of a step whose request may or may not have been carried out."""
_LATE: Final = "its server died when it was sending this; it is not done by now, and may still arrive"


class Progress:
    """The progress of an application that has claimed its plan as `owner`."""

    def __init__(self, plans: store.Store, owner: str, taken: record.Record) -> None:
        self._plans = plans
        self._owner = owner
        self._plan = taken.plan
        self._done = list(taken.steps)
        self.taken = taken
        """The plan as it was when it was claimed."""
        self.marked = timers.uptime()
        """When the last mark began, on the clock `timers.uptime`."""

    def __getitem__(self, index: int) -> record.Application:
        """Returns the state of a step."""
        return self._done[index]

    def begin(self, on_start: Start) -> None:
        """Puts on record that the application begins or goes on. Raises AuditError or PlanError."""
        start = on_start(self.taken)
        # The records of other replicas name this one, so that it is missed where it is not given.
        if start is not None:
            self.taken = self._plans.begin(self._plan.id, self._owner, start)

    @property
    def has_begun(self) -> bool:
        """Whether a step has ended, well or not. A request that was not found may still arrive, and is no beginning."""
        return any(each.state not in {"waiting", "sending"} for each in self._done)

    def mark(self, index: int, state: record.Application) -> None:
        """Records a step's state. Raises PlanError."""
        # Only the state "sending" must be in the store before it is true; any other state is true even if it cannot be
        # stored.
        if state.state != "sending":
            self._done[index] = state
        self.marked = timers.uptime()
        self._plans.mark(self._plan.id, self._owner, index, state)
        self._done[index] = state

    def renew(self, index: int) -> None:
        """Renews the lease while a step waits. Raises PlanError."""
        self.mark(index, self._done[index])

    def is_lost(self) -> bool:
        """Says whether another server has the plan by now, or the store does not answer."""
        try:
            return not self._plans.holds(self._plan.id, self._owner)
        except errors.PlanError:
            return True

    def story(self) -> str:
        """Describes how many changes were made."""
        count = 0
        doubts = ""
        for step, each in zip(self._plan.steps, self._done, strict=True):
            if each.state == "done":
                count += 1
            elif each.state in DOUBTFUL:
                doubts += f"; nobody knows whether this one was: {step.what}"
            elif each.state == "not sent":
                doubts += f"; this one was not sent: {step.what}"
        lost = replacement.describe_lost(self._plan.steps, self._done)
        return f"{count} of {len(self._done)} changes were made{doubts}{lost}"

    def end(self, state: Literal["applied", "stopped"], text: str, on_end: End) -> record.Record:
        """Ends the application, with a text for a person. Raises PlanError with that text if the store cannot keep
        it, or another server has taken the plan over."""
        # Attack: this process was stopped while another server applied the plan, and puts another end on record.
        try:
            self._end_doubts()
            self._plans.renew(self._plan.id, self._owner)
        except errors.PlanError as error:
            raise _lose(text, error) from None
        ended = msgspec.structs.replace(self.taken, state=state, steps=tuple(self._done), text=text)
        # The end is recorded before it is stored: a server that dies in between then leaves two records of the end
        # rather than none.
        try:
            on_end(ended)
        except errors.AuditError as error:
            log.warning("plan %s: %s", self._plan.id, error.message, extra=error.log_fields)
            ended = msgspec.structs.replace(ended, text=f"{text}; the audit record does not have this end")
        try:
            self._plans.finish(self._plan.id, self._owner, state, ended.text)
        except errors.PlanError as error:
            raise _lose(text, error) from None
        return ended

    def _end_doubts(self) -> None:
        """Marks as unknown what a dead server was sending, and nobody has found or sent since. Raises PlanError."""
        # Attack: a proxy delivers the dead server's request when the plan has ended.
        for index, each in enumerate(self._done):
            if each.state == "sending":
                self.mark(index, msgspec.structs.replace(each, state="unknown", text=_LATE))


def _lose(text: str, error: errors.PlanError) -> errors.PlanLost:
    """Returns the error of a plan that another server ends, or whose end cannot be kept."""
    return errors.PlanLost(f"{text}; {error.message}", code=error.code, remedy=error.remedy)
