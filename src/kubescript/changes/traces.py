"""Finds out from the cluster's state whether a request was carried out: its server died, or the answer is no proof. For
this, it reads, and dry-runs the request once more, which changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec

from kubescript import errors
from kubescript.broker import operation
from kubescript.changes import attempt, plan, requests, writer
from kubescript.changes.store import record
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["Search"]

_FOUND: Final = "found done in the cluster"


@dataclass(frozen=True, slots=True)
class Search:
    """The search for one step. Its methods return the step's state: `done`, `waiting` if it was not carried out, or
    `unknown`. They raise KubescriptError when the cluster cannot be searched."""

    cluster: writer.Writer
    step: plan.Step
    call: request.Request
    """The step's request, without a precondition."""
    last: record.Application
    """The state that was marked before the request was sent."""
    mark: str
    """The field manager of the objects that the plan creates."""
    operation: operation.Operation

    def find(self) -> record.Application:
        """Returns the step's state. Raises KubescriptError when the cluster does not answer now, or the audit cannot be
        written."""
        try:
            if self.step.removes:
                return self._find_removed()
            if self.step.precondition is None:
                return self._find_created()
            return self._find_changed()
        except (errors.PlanError, errors.PolicyDenied) as error:
            # It is no longer permitted to read the object or to try the request.
            return self._mark_unknown(error.message)

    def _find_created(self) -> record.Application:
        """Looks for the object that a creation would have made."""
        made = self.cluster.compare_made(self.call, self.step.name, self.operation)
        if made is None or made.after is None:
            return record.Application()
        is_marked = ("fieldManager", self.mark) in self.call.query
        is_foreign = is_marked and made.after.is_managed is False
        # Attack: another client reads the field manager in the plan's first object, and makes an object of its own by
        # that name.
        if is_foreign or made.requested != self.step.requested:
            return self._mark_unknown("there is another of that name, or it was changed since")
        if is_marked and made.after.is_managed:
            return self._mark_done(made.after.uid)
        # It is as it would be, but another client may have made it: so its uid is unknown, and it is not taken back.
        return self._mark_done()

    def _find_removed(self) -> record.Application:
        """Looks for the object that a deletion would have removed."""
        now = self.cluster.read_facts(self.call, self.operation)
        # It is gone, or another object of that name has taken its place.
        if now is None or not self._is_it(now):
            return self._mark_done()
        if now.state is not None and now.state.terminating:
            return self._mark_done()
        return record.Application()

    def _find_changed(self) -> record.Application:
        now = self.cluster.read_facts(self.call, self.operation)
        # Every write gives an object a new version.
        if now is not None and now.resource_version == self.last.resource_version:
            return record.Application()
        call = self.call
        if now is not None and requests.names_version(call):
            call = requests.guard(call, now.uid, now.resource_version)
        tried = self.cluster.try_again(call, self.operation)
        if isinstance(tried, attempt.Sent):
            return self._mark_unknown(f"the API server now answers {tried.status}")
        if not self._is_it(tried.changes.before):
            return self._mark_unknown("there is another of that name")
        # If the change has already been made, there is nothing left that the request itself would change.
        if all(row.by_server for row in tried.changes.rows):
            return self._mark_done()
        # Attack: the change was made, and a person has taken it back. Making it again would undo what the person did.
        return self._mark_unknown("the object was changed since, perhaps by this step, and is not as the step makes it")

    def _is_it(self, now: inspection.Facts | None) -> bool:
        """Says whether the object is the one in the plan."""
        if now is None:
            return False
        expected = self.step.precondition
        return expected is None or now.uid == expected.uid

    def _mark_done(self, uid: str = "") -> record.Application:
        return msgspec.structs.replace(self.last, state="done", uid=uid, text=_FOUND)

    def _mark_unknown(self, text: str) -> record.Application:
        return msgspec.structs.replace(self.last, state="unknown", text=text)
