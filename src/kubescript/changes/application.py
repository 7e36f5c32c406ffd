"""The application of an approved plan: exactly its requests are sent, in order, each for the object that was shown.

Every step is written to the store before and after it is sent. A server that takes over a dead server's plan finds out
which requests were carried out, and neither loses nor repeats one.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from kubescript import errors
from kubescript.broker import operation, records
from kubescript.changes import (
    attempt,
    calls,
    impact,
    plan,
    planner,
    reassessment,
    replacement,
    requests,
    traces,
    writer,
)
from kubescript.changes.store import record
from kubescript.cluster import timers
from kubescript.request import request
from kubescript.wire import inspection
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["Applier", "End", "Report", "Target"]

log = logging.getLogger(__name__)

Report = Callable[[int, int, str], None]
"""A function that is called with the number of finished steps, their total, and the current action."""
End = Callable[[record.Record], None]
"""A function that records how an application ended. Raises AuditError."""

_LEASE_S: Final = 60.0
# Attack: a server that was stopped, or whose machine slept, continues when another server has taken over its plan. So a
# request is sent within half of the lease, and the API server gives up on it within another third.
_SEND_S: Final = _LEASE_S / 2
"""How many seconds after the start of its mark a request may be sent."""
_ANSWER_S: Final = int(_LEASE_S / 3)
"""How many seconds the API server may take for one request."""
_TRIES: Final = 5
"""How often a step is tried again if its object has a new version but the effect is the same."""
_SHOWN: Final = 5
"""How many fields are listed for a request whose effect has changed."""
# Attack: a value of several megabytes would be in the store, in the log and on each page.
_MAX_SHOWN: Final = 200
_DOUBTFUL: Final = frozenset({"sending", "unknown"})
_LOST: Final = frozenset({"plan.decided", "plan.store", "cluster.late"})
"""After these errors, and when this server ends, another server may resume the plan."""
_WAITING: Final = record.Application()


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster, with what its plans need."""

    writer: writer.Writer
    policy: str
    """The digest of the current settings for writes."""
    identity: planner.Identify
    assessor: impact.Assessor


class Applier:
    """The application of one server's, or one command's, plans."""

    def __init__(
        self,
        plans: store.Store,
        targets: Mapping[str, Target],
        is_closing: Callable[[], bool] = bool,
        acts_for: str | None = None,
    ) -> None:
        """`targets` has the clusters by their names in plans; `is_closing` says whether the server is ending. With
        `acts_for`, only that author's plans are applied, since requests are sent as that author."""
        self._plans = plans
        self._targets = targets
        self._is_closing = is_closing
        self._acts_for = acts_for

    def apply(
        self,
        plan_id: str,
        journal: records.Journal,
        report: Report,
        on_end: End,
        cancel: cancellation.Cancellation | None = None,
    ) -> record.Record:
        """Applies an approved plan, or continues one whose server died. The record contains the result.

        Raises KubescriptError if the plan cannot be applied here: it is not approved, another server is applying it,
        its cluster is not this server's or does not answer, or the store or the audit cannot be written. A later call
        may then continue it.
        """
        found = self._plans.get(plan_id)
        own = operation.Operation(journal=journal, cancellation=cancel or cancellation.Cancellation())
        # The cluster is checked before the claim, so that a plan for another server's cluster is left to that server.
        target = self._target(found.plan)
        _check_cluster(target, found.plan, own)
        if found.state != "applying":
            _check_policy(target, found.plan)
        # The name is for this claim alone: the same server may take over from one of its own stalled threads.
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        taken = self._plans.claim(plan_id, owner, _LEASE_S)
        again = reassessment.Reassessment(taken.plan, target.assessor, own)
        work = _Work(self._plans, owner, taken, own, again)
        work.find_out(target.writer)
        try:
            _check_policy(target, found.plan)
            _check_time(found.plan)
            work.run(target.writer, report)
        except errors.KubescriptError as error:
            if error.code in _LOST or self._is_closing():
                text = f"{error.message}; {work.story()}"
                if error.code == "cluster.late":
                    text += "; a server goes on with it in a minute, and so does `kubescript approve`"
                raise errors.PlanLost(text, code=error.code, remedy=error.remedy) from None
            return work.end("stopped", f"{error.code}: {error.message}; {work.story()}", on_end)
        return work.end("applied", work.story(), on_end)

    def check(self, approved: plan.Plan) -> Target:
        """Returns the plan's cluster. Raises PlanError when this server does not serve it, or its settings for writes
        have changed."""
        target = self._target(approved)
        _check_policy(target, approved)
        return target

    def _target(self, approved: plan.Plan) -> Target:
        """Returns the plan's cluster. Raises PlanError when this server does not serve it, or not for this author."""
        target = self._targets.get(approved.context)
        if target is None:
            raise errors.PlanError(f"this server takes no plans for cluster {approved.context!r}", code="plan.policy")
        is_own = self._acts_for is None or approved.author.user == self._acts_for
        if not is_own:
            raise errors.PlanError(
                "this plan is applied as its author, so only the author's own client can approve it", code="plan.policy"
            )
        return target


class _Work:
    """One application of a plan."""

    def __init__(
        self,
        plans: store.Store,
        owner: str,
        taken: record.Record,
        operation: operation.Operation,
        again: reassessment.Reassessment,
    ) -> None:
        self._plans = plans
        self._again = again
        self._owner = owner
        self._taken = taken
        self._plan = taken.plan
        self._manager = taken.plan.manager
        self._done = list(taken.steps)
        self._operation = operation

    def find_out(self, cluster: writer.Writer) -> None:
        """Finds out whether the requests that a dead server had marked were carried out. Raises ClusterError,
        AuditError or PlanError; this method can then be called again."""
        for index, step in enumerate(self._plan.steps):
            last = self._done[index]
            if last.state not in _DOUBTFUL:
                continue
            # Its server died before it had noted how the request ended, or the end itself left that open.
            self._mark(index, self._find(cluster, step, last))

    def run(self, cluster: writer.Writer, report: Report) -> None:
        """Applies the remaining steps. Raises KubescriptError at the first step that fails."""
        count = len(self._plan.steps)
        has_begun = any(each.state != "waiting" for each in self._done)
        if not has_begun:
            self._check(cluster, report)
        for index, step in enumerate(self._plan.steps):
            last = self._done[index]
            # Either the dead server was about to stop, or the outcome is unknown.
            if last.state in {"failed", "unknown"}:
                raise errors.PlanError(f"{step.what}: {last.text}")
            _tell(report, index, count, step.what)
            if last.state != "done":
                self._apply_or_find(cluster, index, step)
        _tell(report, count, count, "applied")

    def story(self) -> str:
        """Describes how many changes were made."""
        count = 0
        doubts = ""
        for step, each in zip(self._plan.steps, self._done, strict=True):
            if each.state == "done":
                count += 1
            elif each.state in _DOUBTFUL:
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
            self._plans.renew(self._plan.id, self._owner)
        except errors.PlanError as error:
            raise _lose(text, error) from None
        ended = msgspec.structs.replace(self._taken, state=state, steps=tuple(self._done), text=text)
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

    def _check(self, cluster: writer.Writer, report: Report) -> None:
        """Raises KubescriptError unless each step still does what was shown. At this point, nothing has been sent."""
        count = len(self._plan.steps)
        for index, step in enumerate(self._plan.steps):
            _tell(report, 0, count, f"looking at {step.target} again")
            call = self._call(step)
            self._try_step(cluster, index, step, call, is_beside=bool(step.replaces))
            # The mark renews the lease, which may be shorter than the checks of many steps.
            self._mark(index, _WAITING)
        _tell(report, 0, count, "looking again at what it affects")
        self._again.look()

    def _apply_or_find(self, cluster: writer.Writer, index: int, step: plan.Step) -> None:
        """Applies one step, unless another server's request for it comes first. Raises KubescriptError."""
        try:
            self._apply(cluster, index, step)
        except errors.PlanError as error:
            earlier = self._taken.steps[index]
            if earlier.state not in _DOUBTFUL or error.code in _LOST:
                raise
            # The other server's request may have arrived after it was looked for.
            found = self._find(cluster, step, earlier)
            if found.state != "done":
                raise
            self._mark(index, found)

    def _find(self, cluster: writer.Writer, step: plan.Step, last: record.Application) -> record.Application:
        """Finds out whether a request was carried out that another server had marked. Raises KubescriptError."""
        call = self._call(step)
        search = traces.Search(cluster, step, call, last, self._manager, self._operation)
        return search.find()

    def _apply(self, cluster: writer.Writer, index: int, step: plan.Step) -> None:
        """Applies one step. Raises KubescriptError."""
        if step.replaces:
            self._wait(cluster, index, step)
        for _ in range(_TRIES):
            # Attack: a dependent appears after the plan was made, or between two steps.
            self._again.look_before(index)
            call = self._call(step)
            changes = self._try_step(cluster, index, step, call)
            before = changes.before or inspection.Facts()
            guarded = requests.guard(call, before.uid, before.resource_version)
            is_sent = self._send_step(cluster, index, step, guarded, before.resource_version)
            if is_sent:
                return
        raise errors.PlanError(f"{step.what}: the object changes faster than it can be written", code="plan.changed")

    def _wait(self, cluster: writer.Writer, index: int, step: plan.Step) -> None:
        """Waits until the object that a step replaces is gone. Raises KubescriptError if that takes too long."""
        for _ in replacement.looks():
            call = requests.named(self._call(step), step.name)
            # An API server that does not answer for a moment must not leave the plan without either object.
            with contextlib.suppress(errors.ClusterError):
                if replacement.is_gone(step, cluster.read_facts(call, self._operation)):
                    return
            # The mark renews the lease.
            self._mark(index, _WAITING)
        raise replacement.late(step)

    def _try_step(
        self, cluster: writer.Writer, index: int, step: plan.Step, call: request.Request, *, is_beside: bool = False
    ) -> inspection.Changes:
        """Dry-runs a step. Raises KubescriptError unless it still does what was shown."""
        current = self._current(cluster, call)
        tried = cluster.try_again(current, self._operation, is_beside=is_beside)
        if isinstance(tried, attempt.Sent):
            raise self._mark_refused(index, step, tried, "failed")
        _check_same(step, tried.changes)
        _check_notices(step, tried)
        # Attack: what was idle when the plan was made runs by now.
        self._again.note(index, tried)
        return tried.changes

    def _current(self, cluster: writer.Writer, call: request.Request) -> request.Request:
        """Returns a request that names a version, but with the current version."""
        if not call.name or not requests.names_version(call):
            return call
        # The object's status may have changed since the script read it, or the previous step may have changed other
        # fields.
        now = cluster.read_facts(call, self._operation)
        if now is None:
            return call
        return requests.guard(call, now.uid, now.resource_version)

    def _send_step(
        self, cluster: writer.Writer, index: int, step: plan.Step, call: request.Request, version: str
    ) -> bool:
        """Sends a step. Returns False if the object has just been given a new version. Raises KubescriptError."""
        sending = record.Application("sending", call.audit_id, version)
        # The mark renews the lease while it is written, so the time begins before that.
        send_by = timers.uptime() + _SEND_S
        self._mark(index, sending)
        bounded = replace(requests.bound(call, _ANSWER_S), send_by=send_by)
        try:
            sent = cluster.send(bounded, self._operation)
        except errors.AuditError as error:
            # The request could not be recorded, so it was not sent.
            failed = record.Application("failed", text=error.message)
            self._mark(index, failed)
            raise
        except errors.KubescriptError as error:
            is_unsent = isinstance(error, errors.ClusterError) and error.is_unsent
            state: record.StepState = "not sent" if is_unsent else "unknown"
            self._mark(index, msgspec.structs.replace(sending, state=state, text=error.message))
            raise
        if sent.status >= 500:
            # A failing API server, or one behind a failing proxy, may have carried out the request anyway.
            raise self._mark_refused(index, step, sent, "unknown", sending)
        is_late = sent.status == 409 and step.precondition is not None
        if sent.status >= 300 and not is_late:
            raise self._mark_refused(index, step, sent, "failed", sending)
        done = msgspec.structs.replace(sending, state="done", status=sent.status, uid=sent.uid)
        # If it is late, nothing was written, so the step will be tried and sent again.
        self._mark(index, _WAITING if is_late else done)
        if sent.fault is not None:
            raise sent.fault
        return not is_late

    def _mark_refused(
        self,
        index: int,
        step: plan.Step,
        sent: attempt.Sent,
        state: Literal["failed", "unknown"],
        sending: record.Application = _WAITING,
    ) -> errors.PlanError:
        """Marks a step that the API server refused; returns the error."""
        text = attempt.find_message(sent.text)
        self._mark(index, msgspec.structs.replace(sending, state=state, status=sent.status, text=text))
        return errors.PlanError(f"{step.what}: {sent.status}: {text}")

    def _call(self, step: plan.Step) -> request.Request:
        call = calls.of(step, step.request, self._operation, self._plan.id)
        return requests.mark(call, self._manager)

    def _mark(self, index: int, state: record.Application) -> None:
        """Records a step's state. Raises PlanError."""
        # Only the state "sending" must be in the store before it is true; any other state is true even if it cannot be
        # stored.
        if state.state != "sending":
            self._done[index] = state
        self._plans.mark(self._plan.id, self._owner, index, state)
        self._done[index] = state


def _lose(text: str, error: errors.PlanError) -> errors.PlanLost:
    """Returns the error of a plan that another server ends, or whose end cannot be kept."""
    return errors.PlanLost(f"{text}; {error.message}", code=error.code, remedy=error.remedy)


def _tell(report: Report, done: int, count: int, text: str) -> None:
    # The client may be gone, but cancelling a call must not leave a plan half applied.
    try:
        report(done, count, text)
    except Exception as error:  # of any kind: a failure of the reporter is not a failure of the plan
        log.debug("no client hears of the progress any more: %r", error)


def _check_policy(target: Target, approved: plan.Plan) -> None:
    """Raises PlanError when the settings for writes have changed since the plan was made."""
    if target.policy != approved.policy:
        raise errors.PlanError(
            "the policy for writes has changed since the plan was made; run the script again, or use the settings of "
            "the server that made it",
            code="plan.policy",
        )


def _check_time(approved: plan.Plan) -> None:
    """Raises PlanError if a plan has expired since its server died: nobody expects its application any more."""
    if time.time() > approved.expires:
        raise errors.PlanError("the plan expired before all of it was applied", code="plan.expired")


def _check_cluster(target: Target, approved: plan.Plan, operation: operation.Operation) -> None:
    """Raises PlanError when the target is not the cluster for which the plan was made."""
    # Attack: a kubeconfig's context now points at another cluster.
    if target.identity(operation) != approved.cluster:
        raise errors.PlanError("the plan was made for another cluster", code="plan.changed")


def _check_same(step: plan.Step, changes: inspection.Changes) -> None:
    """Raises PlanError unless the request still does what was shown, to the same object."""
    shown = found = ""
    if step.precondition is not None:
        shown = step.precondition.uid
    if changes.before is not None:
        found = changes.before.uid
    # Changes of a status, or of fields that the plan does not touch, are no reason to stop.
    if found == shown and changes.digest == step.digest:
        return
    what = _describe_rows(changes)
    if found and shown and found != shown:
        what = "it is another object of that name"
    raise errors.PlanError(f"{step.target} has changed since the plan was made: {what}", code="plan.changed")


def _check_notices(step: plan.Step, tried: attempt.Attempt) -> None:
    """Raises PlanError if a rule on changes has a message that was not shown."""
    # Attack: an apply by force takes fields from a manager that had none when the plan was made.
    shown = {(finding.rule, finding.message) for finding in step.findings}
    for notice in tried.notices:
        if (notice.rule, notice.message) not in shown:
            raise errors.PlanError(
                f"{step.target} has changed since the plan was made: {notice.rule}: {notice.message}",
                code="plan.changed",
            )


def _describe_rows(changes: inspection.Changes) -> str:
    """Describes what the request would change now."""
    shown = []
    for row in changes.rows[:_SHOWN]:
        old, new = _cut(row.old), _cut(row.new)
        shown.append(f"{_cut(row.path)}: {old} → {new}")
    effect = "; ".join(shown) or "nothing"
    return f"the request would now change {effect}"


def _cut(text: str | None) -> str:
    if text is None:
        return "nothing"
    return text[:_MAX_SHOWN]
