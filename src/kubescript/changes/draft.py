"""The writes that one script has tried, in order, before they become a plan. The broker adds to it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import msgspec

from kubescript import errors
from kubescript.changes import attempt, nodes, plan, planned_namespace, pods, replacement, requests
from kubescript.changes.rules import effects
from kubescript.kube import kinds, paths
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["Draft", "RunbookPart"]

# There is a limit because a person has to read all of the plan.
_MAX_BYTES: Final = 8 * 1024 * 1024
"""The approximate maximum size of a plan's requests and rows in bytes."""
_TWO: Final = "use two scripts"
# By default, the API server leaves a Job's pods running.
_DELETE_OPTIONS: Final = '{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"}'
"""The options of a deletion that undoes a creation."""


class Draft:
    """One script's intended changes. Safe for use from the threads that answer its calls."""

    def __init__(self, budget: Callable[[str], int]) -> None:
        """`budget` returns the maximum number of requests of a plan for a cluster. Raises PlanError."""
        self._budget = budget
        self._lock = threading.Lock()
        self._steps: list[plan.Step] = []
        self._runs: list[RunbookPart | None] = []
        """For each step the run of a runbook that it is from; None: the script itself."""
        self._failed = ""
        """The runbook that has failed after it had tried writes."""
        self._size = 0
        self._closed = False
        self._sent: str | None = None
        """The cluster to which the script has sent a write without a plan; None if there is none."""
        self.context = ""
        """The plan's cluster."""

    def add(self, attempt: attempt.Attempt, context: str, run: RunbookPart | None = None) -> None:
        """Adds a write of the script, or of a run of a runbook. Raises PlanError when it cannot be part of this
        plan."""
        step = _step(attempt)
        with self._lock:
            self._check(step, context)
            if run is not None and run.ended:
                raise errors.PlanError("the runbook is over", code="plan.closed")
            step = self._follow(step, is_beside=attempt.is_beside)
            if attempt.is_ahead:
                step = planned_namespace.explain(self._steps, step)
            self.context = context
            self._size += _size(step)
            self._steps.append(step)
            self._runs.append(run)

    def begin_runbook(self, used: plan.Runbook) -> RunbookPart:
        """Returns the part of the draft to which one run of a runbook adds its writes."""
        return RunbookPart(self, used)

    def end_runbook(self, run: RunbookPart, *, failed: bool) -> None:
        """Ends a run: later writes of it are refused. If it has `failed` and has tried writes, nothing is planned."""
        with self._lock:
            run.ended = True
            # Attack: a script makes a runbook fail in the middle, catches the error, and has half of it applied.
            if failed and run in self._runs:
                self._failed = run.used.name

    @property
    def runbook(self) -> plan.Runbook | None:
        """The one call of a runbook from which all steps are; None if there is none."""
        with self._lock:
            first = self._runs[0] if self._runs else None
            if first is None or any(run is not first for run in self._runs):
                return None
            return first.used

    def begin_sending(self, context: str) -> None:
        """Notes that a write is about to be sent to a cluster without a plan. Raises PlanError when the script plans
        writes."""
        # Attack: the person who approves the plan is not told of the half of the script that nobody approves.
        with self._lock:
            if self._steps:
                raise errors.PlanError(
                    f"this script plans changes of {self.context}, so it sends none to {context} at once; {_TWO}",
                    code="plan.overlap",
                )
            self._sent = context

    def deletes(self, key: paths.Key, context: str) -> bool:
        """Says whether the script has planned the deletion of this object, and nothing about it since."""
        with self._lock:
            same = self._list_same(key)
            return context == self.context and bool(same) and replacement.deletes(same[-1])

    def warns_of(self, key: paths.Key, context: str, rule: str) -> bool:
        """Says whether the script has planned a write about this object that has a finding of a rule."""
        with self._lock:
            if context != self.context:
                return False
            return any(finding.rule == rule for step in self._list_same(key) for finding in step.findings)

    def creates_namespace(self, namespace: str, context: str) -> bool:
        """Says whether the script has planned the creation of this namespace, and nothing about it since."""
        with self._lock:
            return context == self.context and planned_namespace.find_creation(self._steps, namespace) is not None

    def close(self) -> tuple[plan.Step, ...]:
        """Ends the draft and returns its steps. Later writes are refused."""
        # Attack: a call of a script that has already ended would become part of a plan without having been shown.
        with self._lock:
            self._closed = True
            return tuple(self._steps)

    def check(self) -> None:
        """Raises PlanError if the writes cannot become a plan."""
        if self._failed:
            raise errors.PlanError(
                f"runbook {self._failed} has failed after it had tried changes, and half of a runbook is not planned; "
                "call it again",
                code="plan.runbook",
            )

    def _check(self, step: plan.Step, context: str) -> None:
        if self._closed:
            raise errors.PlanError("the script is over; its plan is closed", code="plan.closed")
        if self._sent is not None:
            raise errors.PlanError(
                f"this script has sent a change to {self._sent} at once, so it plans none of {context}; {_TWO}",
                code="plan.overlap",
            )
        if self._steps and context != self.context:
            raise errors.PlanError(
                f"one script changes one cluster, and this one already changes {self.context}; {_TWO}",
                code="plan.overlap",
            )
        most = self._budget(context)
        if len(self._steps) >= most:
            raise errors.PlanError(
                f"a plan has at most {most} requests, so that a person can read it; change fewer objects",
                code="plan.too_large",
            )
        if self._size + _size(step) > _MAX_BYTES:
            raise errors.PlanError(
                "the plan is larger than a person can read (8 MiB); change fewer objects", code="plan.too_large"
            )

    def _follow(self, step: plan.Step, *, is_beside: bool) -> plan.Step:
        """Returns a step as it follows the earlier ones about its object. Raises PlanError when it cannot."""
        planned_namespace.check(self._steps, step)
        same = self._list_same(step.key)
        if is_beside and replacement.deletes(same[-1]):
            return replacement.replace(same[-1], step)
        # The latest step says most about what the object is by then.
        for earlier in reversed(same):
            _check_apart(earlier, step)
        return step

    def _list_same(self, key: paths.Key) -> list[plan.Step]:
        """Returns the earlier steps about an object."""
        return [step for step in self._steps if step.key == key]


class RunbookPart:
    """The writes of one run of a runbook. Only the host makes one: what a worker sends cannot name it."""

    def __init__(self, whole: Draft, used: plan.Runbook) -> None:
        self._whole = whole
        self.used = used
        self.ended = False

    def add(self, attempt: attempt.Attempt, context: str) -> None:
        """Adds a write. Raises PlanError when it cannot be part of the plan."""
        self._whole.add(attempt, context, self)

    def begin_sending(self, context: str) -> None:
        """See `Draft.begin_sending`."""
        self._whole.begin_sending(context)

    def deletes(self, key: paths.Key, context: str) -> bool:
        """See `Draft.deletes`."""
        return self._whole.deletes(key, context)

    def warns_of(self, key: paths.Key, context: str, rule: str) -> bool:
        """See `Draft.warns_of`."""
        return self._whole.warns_of(key, context, rule)

    def creates_namespace(self, namespace: str, context: str) -> bool:
        """See `Draft.creates_namespace`."""
        return self._whole.creates_namespace(namespace, context)

    def end(self, *, failed: bool) -> None:
        """See `Draft.end_runbook`."""
        self._whole.end_runbook(self, failed=failed)


def _step(attempt: attempt.Attempt) -> plan.Step:
    call = attempt.asked
    changes = attempt.changes
    before = inspection.Facts()
    precondition = None
    if changes.before is not None:
        before = changes.before
        precondition = plan.Precondition(before.uid, before.resource_version)
    old_pods, new_pods = pods.find(call.subresource, changes)
    return plan.Step(
        request=_request(call),
        verb=call.verb,
        group=call.group,
        version=call.version,
        resource=call.resource,
        subresource=call.subresource,
        namespace=call.namespace,
        name=requests.name(call),
        kind=kinds.kind_of(call.group, call.resource) or "",
        precondition=precondition,
        digest=changes.digest,
        requested=changes.requested,
        rows=changes.rows,
        labels=before.labels,
        findings=attempt.findings,
        replicas=_find_replicas(changes),
        counts=tuple(effects.list_counts(changes)) or msgspec.UNSET,
        images=before.images,
        new_images=_new_images(changes),
        pods=old_pods,
        new_pods=new_pods,
        state=before.state,
        orphans=before.orphans,
        new_taints=nodes.list_new_taints(changes) or msgspec.UNSET,
        warnings=attempt.warnings,
        undo=_undo(call, changes),
    )


def _find_replicas(changes: inspection.Changes) -> int | msgspec.UnsetType:
    """Returns how many replicas an object has after a write, if it says so."""
    if changes.after is None or changes.after.replicas is None:
        return msgspec.UNSET
    return changes.after.replicas


def _new_images(changes: inspection.Changes) -> tuple[str, ...]:
    """Returns the images that an object has only after a write."""
    old = changes.before.images if changes.before is not None else ()
    new = changes.after.images if changes.after is not None else ()
    return tuple(image for image in new if image not in old)


def _undo(call: request.Request, changes: inspection.Changes) -> plan.Request | None:
    """Returns the request that undoes a write: a created object is deleted, and a changed one is patched."""
    if changes.before is None:
        path = call.path
        if not call.name:
            path += f"/{requests.name(call)}"
        return plan.Request("DELETE", path, body=_DELETE_OPTIONS)
    if not changes.undo:
        return None
    return plan.Request("PATCH", call.path, content_type="application/json-patch+json", body=changes.undo)


def _request(call: request.Request) -> plan.Request:
    """Returns a call in the form in which a plan keeps it."""
    body = None
    if call.body is not None:
        body = call.body.decode()
    return plan.Request(call.method, call.path, call.query, call.content_type, body)


def _check_apart(earlier: plan.Step, step: plan.Step) -> None:
    """Raises PlanError when both change the same object, unless they change different fields of it."""
    # Both dry runs start from the current object, so neither shows the combined effect. Attack: a script hides a second
    # patch that looks like the first.
    shared = _own_paths(earlier.rows) & _own_paths(step.rows)
    both_change = earlier.precondition is not None and step.precondition is not None
    have_rows = bool(earlier.rows and step.rows)
    if both_change and have_rows and not shared:
        return
    field = ""
    if shared:
        field = f" ({min(shared)})"
    raise errors.PlanError(
        f"this plan already changes {step.target}{field}; {_instead(earlier, step)}", code="plan.overlap"
    )


def _instead(earlier: plan.Step, step: plan.Step) -> str:
    """Explains how two writes to one object can be made."""
    if earlier.removes:
        return "it is deleted already" if step.removes else "create it anew with these values"
    return "leave that out, since it is deleted" if step.removes else "put both changes into one request"


def _own_paths(rows: tuple[inspection.Row, ...]) -> set[str]:
    """Returns the fields that the request itself names."""
    return {row.path for row in rows if not row.by_server}


def _size(step: plan.Step) -> int:
    """Returns the characters of a step that a person has to read."""
    body = step.request.body or ""
    return step.rows_size + len(body)
