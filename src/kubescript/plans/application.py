"""The application of an approved plan: exactly its requests, in their order, each on the object that was shown.

Every step is written to the store before and after it is sent. Whoever takes a plan over from a server that died finds
out what was carried out, and neither loses nor repeats a request.
"""

from __future__ import annotations

import os
import re
import socket
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kubescript import cancellation, errors
from kubescript.broker import records, summary, writer
from kubescript.plans import calls, plan, planner, record
from kubescript.request import request, writes
from kubescript.wire import masking

if TYPE_CHECKING:
    from kubescript.plans import store

__all__ = ["Applier", "Report", "Target"]

Report = Callable[[int, int, str], None]
"""Told how many steps are done, of how many, and what is done now."""

_LEASE_S: Final = 60.0
_TRIES: Final = 5
"""How often a step is tried again whose object got a new version meanwhile, with the same effect."""
_FOUND: Final = "found done after a restart"
_MESSAGE: Final = re.compile(r'"message":"((?:[^"\\]|\\.){1,600})')
"""The message in an API server's error."""


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster, as plans for it need it."""

    writer: writer.Writer
    policy: str
    """Digest of what decides about writes now."""
    identity: planner.Identify


class Applier:
    """Applies the plans of one server, or of one command."""

    def __init__(self, plans: store.Store, targets: Mapping[str, Target]) -> None:
        """`targets` has the clusters by their names in plans."""
        self._plans = plans
        self._targets = targets

    def apply(
        self, plan_id: str, journal: records.Journal, report: Report, cancel: cancellation.Cancellation | None = None
    ) -> record.Record:
        """Applies an approved plan, or goes on with one whose server died. Raises PlanError when it is not approved,
        somebody else applies it, or it is not for a cluster of this server; what happens later is in the record."""
        target = self.check(self._plans.get(plan_id).plan)
        # A name for this claim alone: the same server may take over what one of its threads has stalled on.
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        taken = self._plans.claim(plan_id, owner, _LEASE_S)
        work = _Work(self._plans, owner, taken, summary.Summary(journal=journal), cancel)
        try:
            _check_time(taken.plan)
            _check_cluster(target, taken.plan, work)
            work.run(target.writer, report)
            self._plans.finish(plan_id, owner, "applied", work.story())
        except errors.KubescriptError as error:
            self._plans.finish(plan_id, owner, "stopped", f"{error.code}: {error.message}; {work.story()}")
        return self._plans.get(plan_id)

    def check(self, approved: plan.Plan) -> Target:
        """Returns the plan's cluster. Raises PlanError when it is none of this server's, or when what decides about its
        writes is another now."""
        target = self._targets.get(approved.context)
        if target is None:
            raise errors.PlanError(f"this server takes no plans for cluster {approved.context!r}", code="plan.policy")
        if target.policy != approved.policy:
            raise errors.PlanError(
                "the plan was made under another policy for writes; run the script again, or use the settings of the "
                "server that made it",
                code="plan.policy",
            )
        return target


class _Work:
    """One application."""

    def __init__(
        self,
        plans: store.Store,
        owner: str,
        taken: record.Record,
        notes: summary.Summary,
        cancel: cancellation.Cancellation | None,
    ) -> None:
        self._plans = plans
        self._owner = owner
        self._plan = taken.plan
        self._done = list(taken.steps)
        self.notes = notes
        self.cancel = cancel or cancellation.Cancellation()

    def run(self, cluster: writer.Writer, report: Report) -> None:
        """Applies what has not been applied yet. Raises KubescriptError at the first step that fails."""
        count = len(self._plan.steps)
        if all(each.state == "waiting" for each in self._done):
            self._check(cluster, report)
        for index, step in enumerate(self._plan.steps):
            report(index, count, f"{step.verb} {step.target}")
            if self._done[index].state != "done":
                self._apply(cluster, index, step)
        report(count, count, "applied")

    def _check(self, cluster: writer.Writer, report: Report) -> None:
        """Raises KubescriptError unless each step still does what was shown. Nothing has been sent by then."""
        for index, step in enumerate(self._plan.steps):
            report(0, len(self._plan.steps), f"looking at {step.target} again")
            tried = cluster.try_again(self._call(step), self.notes, self.cancel)
            if isinstance(tried, writer.Sent):
                self._refused(index, step, tried, resumed=False)
            else:
                _check_same(step, tried.changes)
            self._mark(index, record.Application())  # renews the lease

    def story(self) -> str:
        """Says how far it came."""
        done = sum(each.state == "done" for each in self._done)
        text = f"{done} of {len(self._done)} changes were made"
        for step, each in zip(self._plan.steps, self._done, strict=True):
            if each.state in {"unknown", "sending"}:
                text += f"; nobody knows whether this one was: {step.verb} {step.target}"
        return text

    def _apply(self, cluster: writer.Writer, index: int, step: plan.Step) -> None:
        """Applies one step. Raises KubescriptError."""
        resumed = self._done[index].state in {"sending", "unknown"}
        for _ in range(_TRIES):
            call = self._call(step)
            if resumed and step.precondition is None and self._is_made(cluster, index, step, call):
                return
            tried = cluster.try_again(call, self.notes, self.cancel)
            if isinstance(tried, writer.Sent):
                self._refused(index, step, tried, resumed=resumed)
                return
            if resumed and _is_done(step, tried.changes):
                self._mark(index, record.Application("done", call.audit_id, text=_FOUND))
                return
            _check_same(step, tried.changes)
            before = tried.changes.before or masking.Facts()
            call = writes.guarded(call, before.uid, before.resource_version)
            if self._sent(cluster, index, step, call, before.resource_version):
                return
            resumed = False
        raise errors.PlanError(
            f"{step.verb} {step.target}: the object changes faster than it can be written", code="plan.changed"
        )

    def _sent(self, cluster: writer.Writer, index: int, step: plan.Step, call: request.Request, version: str) -> bool:
        """Sends a step. Returns False when its object got a new version in this moment. Raises KubescriptError."""
        self._mark(index, record.Application("sending", call.audit_id, version))
        try:
            sent = cluster.send(call, self.notes, self.cancel)
        except errors.AuditError as error:  # it could not be recorded, so it was not sent
            self._mark(index, record.Application("failed", text=error.message))
            raise
        except errors.KubescriptError as error:
            self._mark(index, record.Application("unknown", call.audit_id, version, text=error.message))
            raise
        if sent.status == 409 and step.precondition is not None:
            self._mark(index, record.Application())
            return False
        if sent.status >= 300:
            self._refused(index, step, sent, resumed=False)
        self._mark(index, record.Application("done", call.audit_id, version, sent.status))
        return True

    def _refused(self, index: int, step: plan.Step, sent: writer.Sent, *, resumed: bool) -> None:
        """Marks a step that the API server refuses. Raises PlanError, unless the step turns out to be done."""
        if resumed and step.verb == "delete" and sent.status == 404:
            self._mark(index, record.Application("done", text=_FOUND))
            return
        text = _message(sent.text)
        self._mark(index, record.Application("failed", status=sent.status, text=text))
        raise errors.PlanError(f"{step.verb} {step.target}: {sent.status}: {text}")

    def _is_made(self, cluster: writer.Writer, index: int, step: plan.Step, call: request.Request) -> bool:
        """Says whether the object that a step creates is there, as the step creates it. Raises PlanError when it is
        another."""
        made = cluster.made(call, step.name, self.notes, self.cancel)
        if made is None:
            return False
        if made.digest == step.digest:
            self._mark(index, record.Application("done", text=_FOUND))
            return True
        self._mark(index, record.Application("unknown", text="there is an object of that name, with other content"))
        raise errors.PlanError(
            f"{step.target} exists, and not as this plan makes it; the server died before it knew what it had made",
            code="plan.changed",
        )

    def _call(self, step: plan.Step) -> request.Request:
        return calls.of(step, step.request, self.notes, self.cancel, self._plan.id)

    def _mark(self, index: int, state: record.Application) -> None:
        self._plans.mark(self._plan.id, self._owner, index, state)
        self._done[index] = state


def _check_time(approved: plan.Plan) -> None:
    """Raises PlanError when a plan whose server died has expired since: nobody expects it to be applied any more."""
    if time.time() > approved.expires:
        raise errors.PlanError("the plan expired before all of it was applied", code="plan.expired")


def _check_cluster(target: Target, approved: plan.Plan, work: _Work) -> None:
    """Raises PlanError when the target is not the cluster for which the plan was made. Attack: a kubeconfig whose
    context was pointed at another one."""
    if target.identity(work.notes, work.cancel) != approved.cluster:
        raise errors.PlanError("the plan was made for another cluster", code="plan.changed")


def _check_same(step: plan.Step, changes: masking.Changes) -> None:
    """Raises PlanError unless the request still does what was shown, to the same object."""
    expected = step.precondition
    before = changes.before
    if expected is None and before is None:
        return
    if expected is not None and before is not None and (before.uid, changes.digest) == (expected.uid, step.digest):
        return
    what = "it is another object of that name" if before and expected and before.uid != expected.uid else _new(changes)
    raise errors.PlanError(f"{step.target} has changed since the plan was made: {what}", code="plan.changed")


def _new(changes: masking.Changes) -> str:
    """Says what the request would change now."""
    rows = [f"{row.path}: {row.old or 'nothing'} → {row.new or 'nothing'}" for row in changes.rows if not row.by_server]
    return "the request would now change " + ("; ".join(rows[:5]) or "nothing")


def _is_done(step: plan.Step, changes: masking.Changes) -> bool:
    """Says whether there is nothing left to change for a step."""
    return step.precondition is not None and not step.removes and not any(not row.by_server for row in changes.rows)


def _message(text: str) -> str:
    """Returns what an API server's error says."""
    found = _MESSAGE.search(text)
    return found[1].replace('\\"', '"') if found else text[:600]
