"""The application of approved plans: a plan is claimed for one server, and given up when another one has it.

`work` sends its requests. A server that takes over a dead server's plan finds out which requests were carried out, and
neither loses nor repeats one.
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubescript import errors
from kubescript.broker import operation, records
from kubescript.changes import impact, plan, progress, reassessment, sameness, work, writer
from kubescript.changes.store import record
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    from kubescript.changes.store import store

__all__ = ["Applier", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """One cluster, with what its plans need."""

    writer: writer.Writer
    policy: str
    """The digest of the current settings for writes."""
    assessor: impact.Assessor


class Applier:
    """The application of one server's, or one command's, plans."""

    def __init__(
        self,
        plans: store.Store,
        targets: Callable[[str], Target | None],
        is_closing: Callable[[], bool] = bool,
        person: str | None = None,
    ) -> None:
        """`targets` returns a cluster by its name in plans; `is_closing` says whether the server is ending. With
        `person`, only that person's plans are applied, since requests are sent as that person."""
        self._plans = plans
        self._targets = targets
        self._is_closing = is_closing
        self._person = person

    def apply(
        self,
        plan_id: str,
        journal: records.Journal,
        report: work.Report,
        on_start: progress.Start,
        on_end: progress.End,
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
        reached = self._claim(plan_id)
        begun = self._prepare(reached, target, own)
        try:
            # The record that follows here leads to the decisions, which may be on the record of another replica.
            reached.begin(on_start)
            begun.find_out(target.writer)
        except errors.KubescriptError as error:
            raise _lose(error, reached) from None
        try:
            _check_policy(target, found.plan)
            _check_time(found.plan)
            begun.run(report)
        except errors.KubescriptError as error:
            if error.code in work.LOST or self._is_closing():
                raise _lose(error, reached) from None
            return reached.end("stopped", f"{error.code}: {error.message}; {reached.story()}", on_end)
        return reached.end("applied", reached.story(), on_end)

    def refuse(self, plan_id: str, why: errors.PlanError, on_end: progress.End) -> record.Record:
        """Ends a plan that may not be applied, or not any further. Raises PlanError if another server has it."""
        reached = self._claim(plan_id)
        return reached.end("stopped", f"{why.code}: {why.message}; {reached.story()}", on_end)

    def _claim(self, plan_id: str) -> progress.Progress:
        # The name is for this claim alone: the same server may take over from one of its own stalled threads.
        owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        taken = self._plans.claim(plan_id, owner, work.LEASE_S)
        return progress.Progress(self._plans, owner, taken)

    def check(self, approved: plan.Plan, policies: Collection[str] = ()) -> Target:
        """Returns the plan's cluster. Raises PlanError when this server does not serve it, or its settings for writes
        have changed. `policies` has the digests of other settings that are in force, too."""
        target = self._target(approved)
        if approved.policy not in policies:
            _check_policy(target, approved)
        return target

    def _prepare(self, reached: progress.Progress, target: Target, operation: operation.Operation) -> work.Work:
        """Returns the work on a claimed plan."""
        approved = reached.taken.plan
        reach = self._reach(target, approved, operation)
        again = reassessment.Reassessment(approved, lambda: reach().assessor, operation)
        return work.Work(reached, operation, again, lambda: reach().writer)

    def _reach(self, target: Target, approved: plan.Plan, operation: operation.Operation) -> Callable[[], Target]:
        """Returns what finds the plan's cluster anew while the plan is applied."""
        known = target

        def reach() -> Target:
            nonlocal known
            now = self.check(approved)
            # The name has another kubeconfig by now, or its connections were closed.
            if now.writer is not known.writer:
                _check_cluster(now, approved, operation)
                known = now
            return known

        return reach

    def _target(self, approved: plan.Plan) -> Target:
        """Returns the plan's cluster. Raises PlanError when this server does not serve it, or not for this author."""
        target = self._targets(approved.context)
        if target is None:
            raise errors.PlanError(f"this server takes no plans for cluster {approved.context!r}", code="plan.policy")
        # Attack: a user of another issuer has the author's name.
        is_own = self._person is None or approved.author.person == self._person
        if not is_own:
            raise errors.PlanError(
                "this plan is applied as its author, and requests are sent as somebody else here", code="plan.policy"
            )
        return target


def _lose(error: errors.KubescriptError, reached: progress.Progress) -> errors.PlanLost:
    """Returns the error of an application that this server cannot go on with."""
    text = f"{error.message}; {reached.story()}"
    # Otherwise another server has the plan already, and the message says so.
    if error.code != "plan.decided":
        text += "; a server goes on with it in a minute, and so does `kubescript approve`"
    return errors.PlanLost(text, code=error.code, remedy=error.remedy)


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
    sameness.check_cluster(target.writer.identify(operation), approved)
