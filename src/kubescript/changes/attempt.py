"""A write that was tried: its dry run, and the changes that this has shown.

The writer tries each write before it is planned or sent, and again before a plan's requests are sent. The host does not
read bodies: a masking process compares them (`redaction.Engine.changes`).
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kubescript import errors, types
from kubescript.broker import call
from kubescript.changes import answers, plan, reads, requests, stand_ins
from kubescript.changes.rules import effects
from kubescript.cluster import base
from kubescript.kube import kinds
from kubescript.policy import decisions
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["Attempt", "Compare", "DryRuns", "Sent", "send"]

_TRIES: Final = 4
"""How often a write is tried if another client changes its object at the same time."""
_KNOWN_S: Final = 600.0
"""For how many seconds it is cached that an API group supports dry runs."""


class Compare(Protocol):
    """A comparison of an object before and after a write."""

    def __call__(
        self, asked: request.Request, before: bytes, after: bytes, found: call.Found, /, scale: bytes = b""
    ) -> inspection.Changes:
        """Returns what a write changes, given the object before and after; each may be empty. Of a scaling of
        a custom resource, `scale` is the Scale before it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of a write's dry run."""

    asked: request.Request
    """The write, in its canonical form."""
    changes: inspection.Changes
    answer: types.Response
    """The answer to the dry run; its chunks can be read only once."""
    before: bytes = b""
    """The object before the write; empty if there is none."""
    scale: bytes = b""
    """Of a scaling of a custom resource, the Scale before it."""
    notices: tuple[effects.Notice, ...] = ()
    """Notices from the rules for the approvers."""
    warnings: tuple[str, ...] = ()
    """Warnings from the API server, masked."""
    is_beside: bool = False
    """Whether the write was tried beside an object of its name, which the plan deletes."""
    is_ahead: bool = False
    """Whether the write was tried in another namespace, since only the plan has its own."""

    @property
    def findings(self) -> tuple[plan.Finding, ...]:
        """The notices as findings of a plan."""
        return tuple(plan.Finding(one.rule, one.level, one.message) for one in self.notices)

    @property
    def is_idle(self) -> bool:
        """Whether the write leaves its object unchanged."""
        changes = self.changes
        if changes.before is None or changes.after is None:
            return False
        return not changes.rows

    def guard(self) -> request.Request:
        """Returns the write with the precondition that its object is unchanged since the dry run, or still does not
        exist."""
        before = self.changes.before or inspection.Facts()
        return requests.guard(self.asked, before.uid, before.resource_version)


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of one request of a plan."""

    status: int
    text: str = ""
    """The API server's answer if it refused the request, masked."""
    changes: inspection.Changes | None = None
    """What the request has changed; None if it removes its object, or was refused."""
    denials: tuple[decisions.Decision, ...] = ()
    """What the rules deny of that."""
    notices: tuple[effects.Notice, ...] = ()
    """What a person would have to know of that."""
    fault: errors.KubescriptError | None = None
    """Why the rest of the answer could not be read or recorded; the status is known nevertheless."""

    @property
    def uid(self) -> str:
        """The uid of the object that the request has created; empty if it has created none."""
        if self.changes is None or self.changes.before is not None or self.changes.after is None:
            return ""
        return self.changes.after.uid


class DryRuns:
    """The dry runs in one cluster. Safe for use from many threads."""

    def __init__(self, cluster: base.Cluster, compare: Compare) -> None:
        self._cluster = cluster
        self._compare = compare
        self._reads = reads.Reads(cluster)
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], float] = {}
        """Maps API groups and versions that support dry runs to the time when that was seen."""

    def try_name(self, call: call.Call, canonical: request.Request, namespace: str) -> types.Response | None:
        """Tries a creation under its own name, which may be taken; if `namespace` is not empty, in that one. Returns
        the API server's answer if it refuses the creation for anything else. Raises PlanError if it carries it out."""
        # Attack: a policy of the cluster refuses this very name, and says so only when the old object is gone.
        creation = requests.creation(canonical)
        if namespace:
            creation = requests.move(creation, namespace)
        dry = requests.dry_run(creation)
        answer = send(self._cluster, call, replace(dry, audit_id=str(uuid.uuid4())))
        content = answers.read_whole(answer)
        if answer.status < 300:
            made = self._compare(creation, b"", content, call.operation.summary.found)
            _check_not_made(creation, made)
            return None
        return None if answers.is_taken(answer.status, content) else answers.hold(answer, content)

    def try_until_it_stands(
        self, call: call.Call, canonical: request.Request, stand_in: stand_ins.StandIn | None
    ) -> Attempt | types.Response:
        """Tries the write until its object has not changed between the read and the dry run. With a `stand_in`, tries
        it there. Raises PlanError if that never succeeds."""
        asked = canonical if stand_in is None else stand_in.move(canonical)
        for _ in range(_TRIES):
            before = self._reads.read_target(call, asked)
            scale = self._reads.read_scale(call, asked)
            dry = requests.dry_run(asked)
            # The dry run has a separate id, because the API server's log lists it beside the write that is sent later.
            dry = replace(dry, audit_id=str(uuid.uuid4()))
            answer = send(self._cluster, call, dry)
            if stand_in is not None:
                answer = stand_in.restore(answer, canonical)
            if answer.status >= 300:
                return answer
            content = answers.read_whole(answer)
            after = content
            # For a removed object, the answer is not its later state.
            if requests.removes(canonical):
                after = b""
            changes = self._compare(canonical, before, after, call.operation.summary.found, scale or b"")
            _check_not_made(asked, changes)
            self._check_not_done(call, asked, changes, after)
            if scale != b"" and _is_same_version(changes):
                held = answers.hold(answer, content)
                return Attempt(canonical, changes, held, before, scale or b"")
        raise errors.PlanError("the object changes faster than it can be read; try again", code="plan.changed")

    def _check_not_done(
        self, call: call.Call, asked: request.Request, changes: inspection.Changes, after: bytes
    ) -> None:
        """Raises PlanError if an object is gone since its removal was tried, or is as the dry run of a change has
        answered, unless the API server is known to honour dry runs."""
        # Attack: an aggregated server says that it knows dry runs, and ignores the parameter. Each try is carried out.
        if asked.group in kinds.BUILT_IN or changes.before is None:
            return
        removes = requests.removes(asked)
        if not removes and (_is_same_version(changes) or not changes.rows):
            return
        there = self._reads.read_target(call, asked)
        now = inspection.Changes()
        if there:
            scale = self._reads.read_scale(call, asked)
            now = self._compare(asked, there, after, call.operation.summary.found, scale or b"")
        if removes and _has_ended(changes.before, now.before):
            raise _doubt(asked, "deleted it")
        if not removes and there and not now.rows:
            raise _doubt(asked, "changed it likewise")

    def check_supported(self, call: call.Call) -> None:
        """Raises PlanError for an API whose server is not known to honour dry runs."""
        # An aggregated server may not support the parameter, and would then carry out the dry run.
        asked = call.request
        key = asked.group, asked.version
        if asked.group in kinds.BUILT_IN or self._is_known(key):
            return
        path = f"/openapi/v3/apis/{asked.group}/{asked.version}"
        document = replace(
            asked, method="GET", path=path, query=(), verb="get", is_resource=False, body=None,
            accept="application/json",
        )  # fmt: skip
        if not answers.knows_dry_runs(self._reads.read(call, document)):
            raise errors.PlanError(
                f"{request.describe(asked)}: {asked.group}/{asked.version} does not say that it knows dry runs, so "
                "this write cannot be tried first; return the kubectl command instead",
                code="plan.no_dry_run",
            )
        with self._lock:
            self._known[key] = time.monotonic()

    def _is_known(self, key: tuple[str, str]) -> bool:
        """Says whether it was recently seen that an API supports dry runs."""
        with self._lock:
            seen = self._known.get(key)
        if seen is None:
            return False
        return time.monotonic() - seen < _KNOWN_S


def send(cluster: base.Cluster, call: call.Call, request: request.Request) -> types.Response:
    """Sends a call's write when it is recorded that this is done. Raises AuditError or ClusterError."""
    call.request = request
    call.operation.journal.before(request, call.cluster)
    return cluster.perform(request, call.seconds_left, call.operation.cancellation)


def _is_same_version(changes: inspection.Changes) -> bool:
    """Says whether the dry run saw the same object that was read before."""
    before, after = changes.before, changes.after
    if before is None or after is None:
        return True
    if before.uid != after.uid:
        return False
    return before.resource_version == after.resource_version


def _check_not_made(asked: request.Request, changes: inspection.Changes) -> None:
    """Raises PlanError when the API server carried out a dry run: an object that was not stored has no version."""
    if changes.before is not None or changes.after is None or not changes.after.resource_version:
        return
    # A POST would be refused if the object existed by now; any other method may have found another client's object.
    if asked.method != "POST":
        raise _doubt(asked, "created it")
    named = requests.add_name(asked, requests.name(asked))
    raise _refuse(
        f"{request.describe(named)}: the API server has carried out the dry run, and the object is there; look at it "
        "before you do anything else"
    )


def _has_ended(before: inspection.Facts, now: inspection.Facts | None) -> bool:
    """Says whether an object is gone, or its deletion has begun."""
    if now is None or now.uid != before.uid:
        return True
    was_terminating = before.state is not None and before.state.terminating
    return now.state is not None and now.state.terminating and not was_terminating


def _doubt(asked: request.Request, done: str) -> errors.PlanError:
    """Returns the error of a dry run that another client's write, which has `done` something, resembles."""
    return _refuse(
        f"{request.describe(asked)}: either somebody {done} at this moment, or the API server has carried out the dry "
        "run; look at it before you try again"
    )


def _refuse(what: str) -> errors.PlanError:
    remedy = "if its API group ignores dryRun=All, deny it in [[denied_resources]]"
    return errors.PlanError(what, code="plan.no_dry_run", remedy=remedy)
