"""One application of a plan: exactly its requests are sent, in order, each for the object that was shown.

Every step is written to the store before and after it is sent.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

import msgspec

from kubescript import errors
from kubescript.broker import operation
from kubescript.changes import (
    answers,
    attempt,
    calls,
    plan,
    progress,
    reassessment,
    replacement,
    requests,
    sameness,
    traces,
    trials,
    writer,
)
from kubescript.changes.store import record
from kubescript.cluster import timers
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["LEASE_S", "LOST", "Reach", "Report", "Work"]

log = logging.getLogger(__name__)

Report = Callable[[int, int, str], None]
"""A function that is called with the number of finished steps, their total, and the current action."""

Reach = Callable[[], writer.Writer]
"""A function that returns the plan's cluster as it is now. It raises PlanError when that takes no plans of the author
by now, or is another one, and ClusterError."""

LEASE_S: Final = 60.0
"""How many seconds after its last mark a server loses its plan."""
# Attack: a server that was stopped, or whose machine slept, continues when another server has taken over its plan. So a
# request is sent within half of the lease, and the API server gives up on it within another third.
_SEND_S: Final = LEASE_S / 2
"""How many seconds after the start of its mark a request may be sent."""
_LOOK_S: Final = LEASE_S
"""How many seconds after its last mark a server may still mark that it sends a request."""
_ANSWER_S: Final = int(LEASE_S / 3)
"""How many seconds the API server may take for one request."""
_TRIES: Final = 5
"""How often a step is tried again if its object has a new version but the effect is the same."""
LOST: Final = frozenset({"plan.decided", "plan.store", "cluster.late"})
"""The codes of errors after which another server may go on with the plan, as it may when this server ends."""
_WAITING: Final = record.Application()


class Work:
    """One application of a plan."""

    def __init__(
        self,
        progress: progress.Progress,
        operation: operation.Operation,
        again: reassessment.Reassessment,
        reach: Reach,
    ) -> None:
        # Attack: the cluster leaves the author's reach, or a fleet, while the plan is applied.
        self._reach = reach
        self._progress = progress
        self._again = again
        self._plan = progress.taken.plan
        self._manager = self._plan.manager
        self._operation = operation

    def find_out(self, cluster: writer.Writer) -> None:
        """Finds out whether the requests that a dead server had marked were carried out. Raises ClusterError,
        AuditError or PlanError; this method can then be called again."""
        for index, step in enumerate(self._plan.steps):
            last = self._progress[index]
            if last.state not in progress.DOUBTFUL:
                continue
            # Its server died before it had noted how the request ended, or the end itself left that open.
            found = self._find(cluster, step, last)
            # What is not done by now may still arrive, until this server sends it.
            is_open = found.state == "waiting"
            self._progress.mark(index, msgspec.structs.replace(last, state="sending") if is_open else found)

    def run(self, report: Report) -> None:
        """Applies the remaining steps. Raises KubescriptError at the first step that fails."""
        count = len(self._plan.steps)
        if not self._progress.has_begun:
            self._check(report)
        for index, step in enumerate(self._plan.steps):
            last = self._progress[index]
            # Either the dead server was about to stop, or the outcome is unknown.
            if last.state in {"failed", "unknown"}:
                raise errors.PlanError(f"{step.what}: {last.text}")
            _tell(report, index, count, step.what)
            if last.state != "done":
                self._apply_or_find(index, step)
        _tell(report, count, count, "applied")

    def _check(self, report: Report) -> None:
        """Raises KubescriptError unless each step still does what was shown. At this point, nothing has been sent."""
        count = len(self._plan.steps)
        for index, step in enumerate(self._plan.steps):
            _tell(report, 0, count, f"looking at {step.target} again")
            dry_runs = trials.Trials(self._reach(), self._plan.steps, self._operation)
            call = self._call(step)
            self._note(index, step, dry_runs.try_before(index, call))
            # The lease may be shorter than the checks of many steps.
            self._progress.renew(index)
        _tell(report, 0, count, "looking again at what it affects")
        self._again.look()

    def _apply_or_find(self, index: int, step: plan.Step) -> None:
        """Applies one step, unless another server's request for it comes first. Raises KubescriptError."""
        try:
            self._apply(index, step)
        except errors.PlanError as error:
            earlier = self._progress.taken.steps[index]
            if earlier.state not in progress.DOUBTFUL or error.code in LOST:
                raise
            # The other server's request may have arrived after it was looked for.
            found = self._find(self._reach(), step, earlier)
            if found.state != "done":
                raise
            self._progress.mark(index, found)

    def _find(self, cluster: writer.Writer, step: plan.Step, last: record.Application) -> record.Application:
        """Finds out whether a request was carried out that was marked. Raises KubescriptError."""
        call = self._call(step)
        search = traces.Search(cluster, step, call, last, self._manager, self._operation)
        return search.find()

    def _apply(self, index: int, step: plan.Step) -> None:
        """Applies one step. Raises KubescriptError."""
        if step.replaces:
            self._wait(index, step)
        self._again.begin(index)
        for _ in range(_TRIES):
            call = self._call(step)
            tried = self._try_in_place(self._reach(), index, step, call)
            # Attack: a dependent appears while a webhook holds up the dry run, or between two steps.
            self._again.look_before_sending()
            if self._send_step(self._reach(), index, step, call, tried):
                return
        raise errors.PlanError(f"{step.what}: the object changes faster than it can be written", code="plan.changed")

    def _wait(self, index: int, step: plan.Step) -> None:
        """Waits until the object that a step replaces is gone. Raises KubescriptError if that takes too long."""
        for _ in replacement.looks():
            cluster = self._reach()
            call = requests.add_name(self._call(step), step.name)
            # An API server that does not answer for a moment must not leave the plan without either object.
            with contextlib.suppress(errors.ClusterError):
                if replacement.is_gone(step, cluster.read_facts(call, self._operation)):
                    return
            self._progress.renew(index)
        raise replacement.late(step)

    def _try_in_place(
        self, cluster: writer.Writer, index: int, step: plan.Step, call: request.Request
    ) -> attempt.Attempt:
        """Dry-runs a step whose turn it is. Raises KubescriptError unless it still does what was shown."""
        dry_runs = trials.Trials(cluster, self._plan.steps, self._operation)
        tried = self._note(index, step, dry_runs.try_in_place(index, call, lambda: self._progress.renew(index)))
        if step.precondition is None:
            # Attack: the address is another cluster's by now. A change has the uid of its object; a creation has
            # nothing that only this cluster knows.
            sameness.check_cluster(cluster.identify(self._operation), self._plan)
        creation = dry_runs.find_namespace(index)
        if creation is not None:
            dry_runs.check_namespace(index, self._progress[creation].uid)
        return tried

    def _note(self, index: int, step: plan.Step, tried: attempt.Attempt | attempt.Sent) -> attempt.Attempt:
        """Returns the dry run of a step. Raises KubescriptError if the API server has refused it, or it means more than
        was shown."""
        if isinstance(tried, attempt.Sent):
            raise self._mark_refused(index, step, tried, "failed")
        # Attack: what was idle when the plan was made runs by now.
        self._again.note(index, tried)
        return tried

    def _send_step(
        self, cluster: writer.Writer, index: int, step: plan.Step, call: request.Request, tried: attempt.Attempt
    ) -> bool:
        """Sends a step. Returns False if the object has just been given a new version. Raises KubescriptError."""
        before = tried.changes.before or inspection.Facts()
        guarded = requests.guard(call, before.uid, before.resource_version)
        sending = record.Application("sending", call.audit_id, before.resource_version)
        sent = self._send(cluster, index, guarded, tried, sending)
        if sent.status >= 500:
            # A failing API server, or one behind a failing proxy, may have carried out the request anyway.
            raise self._mark_refused(index, step, sent, "unknown", sending)
        if sent.status >= 300:
            return self._find_refused(cluster, index, step, sent, sending)
        self._progress.mark(index, msgspec.structs.replace(sending, state="done", status=sent.status, uid=sent.uid))
        if sent.fault is not None:
            raise sent.fault
        sameness.check_sent(step, sent)
        return True

    def _send(
        self,
        cluster: writer.Writer,
        index: int,
        call: request.Request,
        tried: attempt.Attempt,
        sending: record.Application,
    ) -> attempt.Sent:
        """Marks a step and sends its request. Raises KubescriptError, when that is marked."""
        self._check_lease()
        self._progress.mark(index, sending)
        # The mark renews the lease while it is written, so the time begins before that.
        send_by = self._progress.marked + _SEND_S
        bounded = replace(requests.bound(call, _ANSWER_S), send_by=send_by, is_withdrawn=self._progress.is_lost)
        try:
            return cluster.send(bounded, tried, self._operation)
        except errors.AuditError as error:
            # The request could not be recorded, so it was not sent.
            failed = record.Application("failed", text=error.message)
            self._progress.mark(index, failed)
            raise
        except errors.KubescriptError as error:
            is_unsent = isinstance(error, errors.ClusterError) and error.is_unsent
            state: record.StepState = "not sent" if is_unsent else "unknown"
            self._progress.mark(index, msgspec.structs.replace(sending, state=state, text=error.message))
            raise

    def _check_lease(self) -> None:
        """Raises ClusterError if the lease has run out since the last mark, although no other server may have taken the
        plan over."""
        # Attack: the machine slept here until the plan had expired, or what it affects had changed.
        if timers.uptime() > self._progress.marked + _LOOK_S:
            raise errors.ClusterError("this server was stopped, or its machine slept", code="cluster.late")

    def _find_refused(
        self, cluster: writer.Writer, index: int, step: plan.Step, sent: attempt.Sent, sending: record.Application
    ) -> bool:
        """Finds out whether a step was carried out although the API server has refused it. Returns False if its object
        has just been given a new version. Raises KubescriptError if it was refused for anything else."""
        # Attack: a proxy repeats a request whose answer it has lost, and the API server refuses the second one.
        earlier = self._progress.taken.steps[index]
        # If another server had marked the step, its request rather than this one was carried out.
        last = earlier if earlier.state in progress.DOUBTFUL else sending
        try:
            found = self._find(cluster, step, last)
        except errors.KubescriptError as error:
            self._progress.mark(index, msgspec.structs.replace(last, state="unknown", text=error.message))
            raise
        if found.state == "done" and step.removes:
            # Another client may have removed the object just before.
            gone = attempt.Sent(sent.status, "it is gone, by this request or by another client's")
            raise self._mark_refused(index, step, gone, "unknown", last)
        if found.state == "done":
            self._progress.mark(index, msgspec.structs.replace(found, status=sent.status))
            return True
        is_late = sent.status == 409 and step.precondition is not None
        if not is_late:
            raise self._mark_refused(index, step, sent, "failed", sending)
        # Nothing was written, so the step is tried and sent again.
        self._progress.mark(index, _WAITING if last is sending else last)
        return False

    def _mark_refused(
        self,
        index: int,
        step: plan.Step,
        sent: attempt.Sent,
        state: Literal["failed", "unknown"],
        sending: record.Application = _WAITING,
    ) -> errors.PlanError:
        """Marks a step that the API server refused; returns the error."""
        text = answers.find_message(sent.text)
        self._progress.mark(index, msgspec.structs.replace(sending, state=state, status=sent.status, text=text))
        return errors.PlanError(f"{step.what}: {sent.status}: {text}")

    def _call(self, step: plan.Step) -> request.Request:
        call = calls.of(step, step.request, self._operation, self._plan.id)
        return requests.mark(call, self._manager)


def _tell(report: Report, done: int, count: int, text: str) -> None:
    # The client may be gone, but cancelling a call must not leave a plan half applied.
    try:
        report(done, count, text)
    except Exception as error:  # of any kind: a failure of the reporter is not a failure of the plan
        log.debug("no client hears of the progress any more: %r", error)
