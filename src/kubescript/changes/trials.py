"""The dry runs of an approved plan's steps: all of them before anything is sent, and each again when its turn comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kubescript.broker import operation
from kubescript.changes import attempt, plan, planned_namespace, requests, sameness, writer
from kubescript.request import request

__all__ = ["Trials"]

_FORBIDDEN: Final = 403
"""The status with which API servers refuse a request for what it lacks: a right, a service account, a quota."""


@dataclass(frozen=True, slots=True)
class Trials:
    """The dry runs of one plan. A method returns the API server's refusal if there is one, and raises KubescriptError
    if a step no longer does what was shown."""

    cluster: writer.Writer
    steps: tuple[plan.Step, ...]
    operation: operation.Operation

    def try_before(self, index: int, call: request.Request) -> attempt.Attempt | attempt.Sent:
        """Tries a step before anything of the plan is sent."""
        step = self.steps[index]
        is_ahead = self.find_namespace(index) is not None
        if is_ahead:
            # It is looked at before anything is made in it, so it must not turn out only then that it cannot be.
            self.cluster.read_namespace(step.namespace, self.operation)
        tried = self._try(call, is_beside=bool(step.replaces), is_ahead=is_ahead)
        if isinstance(tried, attempt.Attempt):
            sameness.check(step, tried.changes)
        return tried

    def try_in_place(
        self, index: int, call: request.Request, renew: Callable[[], None]
    ) -> attempt.Attempt | attempt.Sent:
        """Tries a step when those before it are done. In a new namespace this may take a while, and `renew` is called
        whenever it is tried again."""
        tried = self._try(call)
        since = "since the plan was made"
        if self.find_namespace(index) is not None:
            since = "since it was tried in another namespace"
            tried = self._try_until_settled(call, tried, renew)
        if isinstance(tried, attempt.Attempt):
            sameness.check(self.steps[index], tried.changes, since)
        return tried

    def find_namespace(self, index: int) -> int | None:
        """Returns the earlier step that creates the namespace of a step; None if there is none."""
        step = self.steps[index]
        return None if step.is_namespace else planned_namespace.find_creation(self.steps[:index], step.namespace)

    def check_namespace(self, index: int, uid: str) -> None:
        """Raises KubescriptError if the namespace of a step is not the one of this uid, which the plan has made."""
        step = self.steps[index]
        sameness.check_namespace(step, uid, self.cluster.read_namespace(step.namespace, self.operation))

    def _try_until_settled(
        self, call: request.Request, tried: attempt.Attempt | attempt.Sent, renew: Callable[[], None]
    ) -> attempt.Attempt | attempt.Sent:
        """Tries a request again while its namespace, which is new, may lack what controllers make in it."""
        for _ in planned_namespace.looks():
            if isinstance(tried, attempt.Attempt) or tried.status != _FORBIDDEN:
                break
            renew()
            tried = self._try(call)
        return tried

    def _try(
        self, call: request.Request, *, is_beside: bool = False, is_ahead: bool = False
    ) -> attempt.Attempt | attempt.Sent:
        current = self._current(call)
        return self.cluster.try_again(current, self.operation, is_beside=is_beside, is_ahead=is_ahead)

    def _current(self, call: request.Request) -> request.Request:
        """Returns a request that names a version, but with the current version."""
        if not call.name or not requests.names_version(call):
            return call
        # The object's status may have changed since the script read it, or the previous step may have changed other
        # fields.
        now = self.cluster.read_facts(call, self.operation)
        if now is None:
            return call
        return requests.guard(call, now.uid, now.resource_version)
