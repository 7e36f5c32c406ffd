"""Writes to one cluster: each is tried first, judged by its effects, and then added to a plan or sent.

The broker passes on each write that the policy leaves to a plan or permits directly (`Writer.write`). Plans send
approved requests through `try_again` and `send`.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field, replace
from typing import Final

from kubescript import accesses, errors, types
from kubescript.broker import broker, call, operation, rate
from kubescript.changes import (
    answers,
    attempt,
    bound_roles,
    planned_namespace,
    reads,
    replacement,
    requests,
    stand_ins,
)
from kubescript.changes.rules import effects
from kubescript.changes.rules import writes as write_policy
from kubescript.cluster import base
from kubescript.kube import kinds
from kubescript.policy import decisions
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["WritableAccess", "Writer"]

_READ_S: Final = 10.0
# Every cluster has this namespace, with a unique uid.
_KUBE_SYSTEM: Final = "kube-system"
"""A namespace that identifies its cluster."""
_MAX_TEXT: Final = 2_000
"""How many characters of an API server's error are kept."""


class Writer:
    """Tries and sends the writes to one cluster. Safe for use from many threads."""

    def __init__(
        self,
        cluster: base.Cluster,
        compare: attempt.Compare,
        rules: write_policy.Policy,
        mask: call.Mask,
        context: str,
        *,
        log: call.Log = broker.log_record,
        rate_of_writes: rate.Rate | None = None,
        is_found: bool = False,
    ) -> None:
        """`compare` returns what a write changes, `rules` decides whether it may change that; `context` names the
        cluster if it is one of several; `rate_of_writes` counts the writes, where that outlives the writer. `is_found`
        says that no operator has listed the cluster."""
        self._cluster = cluster
        self._compare = compare
        self._rules = rules
        self._log = log
        self._mask = mask
        self._context = context
        self._is_found = is_found
        self._rate = rate_of_writes or rate.Rate(rules.per_minute)
        self._reads = reads.Reads(cluster)
        self._dry_runs = attempt.DryRuns(cluster, compare)

    def write(self, call: call.Call) -> tuple[types.Response, bool]:
        """Tries a script's write. Returns the answer, and whether the write is only planned. Raises KubescriptError.

        The decision on the call is "plan", or "direct" for a write that is sent at once.
        """
        canonical = requests.canonical(call.request)
        call.request = canonical
        self._check(call)
        if not self._rate.take(call.operation.owner):
            raise call.deny(self._deny_many())
        if requests.is_dry_run(canonical):
            self._dry_runs.check_supported(call)
            return attempt.send(self._cluster, call, requests.dry_run(canonical)), False
        is_plan = call.decision.verdict == "plan"
        draft = call.operation.draft
        if is_plan and draft is None:
            raise errors.PlanError(
                "nothing can be planned here: no person can be asked; return the kubectl command instead",
                code="plan.nobody",
            )
        is_beside = is_plan and draft is not None and self._is_replacement(canonical, draft)
        is_ahead = is_plan and draft is not None and self._is_ahead(canonical, draft)
        tried = self._try(call, is_beside=is_beside, is_ahead=is_ahead)
        if isinstance(tried, types.Response):
            if is_ahead or is_beside:
                raise self._refuse_elsewhere(call, tried, is_ahead=is_ahead)
            return tried, False
        if not is_plan or draft is None:
            if draft is not None:
                draft.begin_sending(self._context)
            # The dry run is recorded under its own id, separately from the write that follows.
            dry = call.derive(call.request)
            dry.end(tried.answer.status)
            return attempt.send(self._cluster, call, tried.guard()), False
        if tried.is_idle:
            return tried.answer, False
        call.verdict = "plan"
        draft.add(tried, self._context)
        return tried.answer, True

    def plan(self, asked: request.Request, operation: operation.Operation) -> bool:
        """Tries a write that no script requested, and adds it to the operation's draft. Returns whether it would change
        anything. Raises KubescriptError."""
        begun = self._begin(asked, operation)
        begun.decision = decisions.PLAN
        response, is_planned = self.write(begun)
        if response.status >= 300:
            refusal = self._refuse(begun, response)
            why = answers.find_message(refusal.text)
            what = request.describe(asked)
            raise errors.PlanError(f"{what}: the API server answers {response.status}: {why}")
        response.close()
        return is_planned

    def try_again(
        self,
        request: request.Request,
        operation: operation.Operation,
        *,
        is_beside: bool = False,
        is_ahead: bool = False,
    ) -> attempt.Attempt | attempt.Sent:
        """Tries a plan's request; with `is_beside`, beside the object of its name that the plan is about to replace,
        and with `is_ahead`, before there is its namespace. Returns the API server's refusal if there is one. Raises
        KubescriptError."""
        begun = self._begin(request, operation)
        tried = self._try(begun, is_beside=is_beside, is_ahead=is_ahead)
        if isinstance(tried, types.Response):
            return self._refuse(begun, tried)
        # The record is to show the dry run as part of a plan.
        begun.verdict = "plan"
        begun.end(tried.answer.status)
        return tried

    def send(self, request: request.Request, tried: attempt.Attempt, operation: operation.Operation) -> attempt.Sent:
        """Sends a plan's request, with its precondition, as it was just tried. Raises AuditError if it was not sent,
        and ClusterError if it may or may not have been carried out."""
        begun = self._begin(request, operation)
        operation.journal.before(request, begun.cluster)
        try:
            response = self._cluster.perform(request, begun.seconds_left, operation.cancellation)
        except errors.ClusterError as error:
            # It is already recorded that the request was sent.
            with contextlib.suppress(errors.AuditError):
                begun.fail(error)
            raise
        try:
            if response.status >= 300:
                return self._refuse(begun, response)
            content = answers.read_whole(response)
            begun.end(response.status, size=len(content))
            is_object = answers.is_object(content)
            if is_object and requests.removes(request):
                return attempt.Sent(response.status)
            if is_object:
                return self._judge(tried, response.status, content, operation)
        except errors.KubescriptError as error:
            return attempt.Sent(response.status, fault=error)
        # Attack: a proxy whose session has ended answers 200 with its sign-in page.
        raise errors.ClusterError(
            f"the answer {response.status} is not from an API server, since it has no object",
            code="cluster.broken",
            remedy="look for a proxy between kubescript and the API server that answers for it",
        )

    def _judge(self, tried: attempt.Attempt, status: int, made: bytes, operation: operation.Operation) -> attempt.Sent:
        """Returns what a request has changed, by the API server's answer. Raises KubescriptError."""
        counted = operation.summary.found
        changes = self._compare(tried.asked, tried.before, made, counted, tried.scale)
        found = effects.findings(tried.asked, changes, self._rules)
        return attempt.Sent(status, changes=changes, denials=found.denials, notices=found.notices)

    def compare_made(
        self, request: request.Request, name: str, operation: operation.Operation
    ) -> inspection.Changes | None:
        """Compares the object of that name with the result of a creation; None if it does not exist. Raises
        KubescriptError."""
        begun = self._begin(request, operation)
        there = self._reads.read_target(begun, requests.add_name(request, name))
        if not there:
            return None
        return self._compare(request, b"", there, operation.summary.found)

    def identify(self, operation: operation.Operation) -> str:
        """Returns this cluster's unique identity: the uid of its namespace kube-system; if that may not be read, the
        API server's address and CA; of a found cluster both. Raises KubescriptError."""
        try:
            facts = self.read_namespace(_KUBE_SYSTEM, operation)
        except errors.PlanError:
            facts = None
        # Attack: a user with few rights to read points a context of the same name at another cluster.
        if facts is None:
            return self._cluster.address
        # Attack: whoever may write a Secret in the hub puts another server in a cluster's place, which repeats its uid.
        return f"{self._cluster.address} {facts.uid}" if self._is_found else facts.uid

    def read_namespace(self, name: str, operation: operation.Operation) -> inspection.Facts | None:
        """Returns the current facts of a namespace; None if it does not exist. Raises KubescriptError."""
        path = f"/api/v1/namespaces/{name}"
        asked = request.Request(
            "GET", path, (), "get", True, "", "v1", "namespaces", "", name, name, deadline=time.monotonic() + _READ_S
        )
        return self.read_facts(asked, operation)

    def read_facts(self, request: request.Request, operation: operation.Operation) -> inspection.Facts | None:
        """Returns the current facts of a request's object; None if it does not exist. Raises KubescriptError."""
        begun = self._begin(request, operation)
        there = self._reads.read_target(begun, request)
        if not there:
            return None
        found = operation.summary.found
        changes = self._compare(request, there, b"", found)
        return changes.before

    def _begin(self, request: request.Request, operation: operation.Operation) -> call.Call:
        return call.Call(request, operation, self._log, self._mask, self._context)

    def _deny_many(self) -> decisions.Decision:
        """Returns the denial of a write that comes too soon after other writes."""
        most = self._rules.per_minute
        return decisions.Decision("deny", "writes.rate", f"{most} writes a minute are permitted", "wait a minute")

    def _check(self, call: call.Call) -> None:
        """Raises PolicyDenied when a rule objects to a write, before anything is sent."""
        # Attack: a script sends DELETE for a collection with the body {} and ?dryRun=All. The API server ignores the
        # query, so this looks like a dry run but deletes.
        objection = write_policy.find_objection(call.request, self._rules)
        if objection is not None:
            raise call.deny(objection)

    def _is_replacement(self, canonical: request.Request, draft: operation.Draft) -> bool:
        """Says whether a write makes anew what the script has planned to delete."""
        key = canonical.group, canonical.resource, canonical.namespace, requests.name(canonical)
        return replacement.may_create(canonical) and draft.deletes(key, self._context)

    def _is_ahead(self, canonical: request.Request, draft: operation.Draft) -> bool:
        """Says whether a write creates something in a namespace that only the plan has."""
        is_inside = not kinds.is_namespace(canonical.group, canonical.resource)
        may_create = replacement.may_create(canonical) and is_inside
        return may_create and draft.creates_namespace(canonical.namespace, self._context)

    def _check_stand_in(self, call: call.Call) -> None:
        """Raises PolicyDenied if a rule objects to such a write in the namespace in which it would be tried."""
        # Attack: a script plans a namespace only to try its writes in another one, of which the operator permits none.
        elsewhere = replace(call.request, namespace=planned_namespace.STAND_IN)
        objection = write_policy.find_objection(elsewhere, self._rules)
        if objection is not None:
            raise call.deny(planned_namespace.explain_denial(objection))

    def _refuse_elsewhere(self, call: call.Call, answer: types.Response, *, is_ahead: bool) -> errors.PlanError:
        """Records that the API server refused to try a write elsewhere than at its own place; returns the error."""
        refusal = self._refuse(call, answer)
        why = f"{refusal.status}: {answers.find_message(refusal.text)}"
        if is_ahead:
            return planned_namespace.refuse(why, call.request.resource)
        return replacement.refuse(why)

    def _try(
        self, call: call.Call, *, is_beside: bool = False, is_ahead: bool = False
    ) -> attempt.Attempt | types.Response:
        """Tries a canonical write. If the API server refuses it, returns only the server's answer. Raises PolicyDenied
        if a rule objects to the write or its effects."""
        self._check(call)
        canonical = call.request
        self._dry_runs.check_supported(call)
        namespace = ""
        if is_ahead:
            self._check_stand_in(call)
            namespace = planned_namespace.STAND_IN
        stand_in = None
        if is_beside or is_ahead:
            refusal = self._dry_runs.try_name(call, canonical, namespace)
            if refusal is not None:
                return refusal
            stand_in = stand_ins.make(requests.name(canonical), namespace)
        tried = self._dry_runs.try_until_it_stands(call, canonical, stand_in)
        if isinstance(tried, types.Response):
            return tried
        tried = bound_roles.add_risk(call, self._context, tried, self._reads, self._compare)
        found = effects.findings(canonical, tried.changes, self._rules, replaces=is_beside)
        if found.denials:
            # Trying the write has left the dry run's own request in the call.
            call.request = canonical
            raise call.deny(found.denials[0])
        warnings = answers.find_warnings(tried.answer)
        masked = tuple(map(call.mask, warnings))
        return replace(tried, notices=found.notices, warnings=masked, is_beside=is_beside, is_ahead=is_ahead)

    def _refuse(self, call: call.Call, response: types.Response) -> attempt.Sent:
        """Records that the API server refused a plan's request; returns the server's answer."""
        body = answers.read_whole(response)
        text = body.decode("utf-8", "replace")
        call.end(response.status, size=len(text))
        # More text is masked than is kept, so that a secret at the end of the kept text is not cut before it is masked.
        masked = call.mask(text[: 2 * _MAX_TEXT])
        return attempt.Sent(response.status, masked[:_MAX_TEXT])


@dataclass(frozen=True, slots=True)
class WritableAccess(accesses.ClusterAccess):
    """The access to one cluster, with the writer that tries and sends writes to it."""

    writer: Writer = field(kw_only=True)
