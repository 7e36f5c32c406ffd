"""The only door to a cluster: parse, decide, perform, redact, record.

Every toolset and every script goes through `handle`.

What comes in is hostile (any bytes that decode as a Call); what goes out is a reply the worker may see. A refused or
failed call is an answer, not an exception. What a script could not see is kept in its tally, so that the answer can
say what is missing even when the script swallowed the error.
"""

from __future__ import annotations

import functools
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kubescript import cancellation, errors, redaction, types
from kubescript.broker import body as answer_body  # fmt: skip
from kubescript.broker import cases, ledgers, logtail, records, summary
from kubescript.cluster import base
from kubescript.policy import discovery, policy
from kubescript.request import request
from kubescript.wire import protocol

__all__ = ["Broker"]

log = logging.getLogger(__name__)

_Answer = tuple[protocol.Reply, types.Response | None]
_ASKING: Final = frozenset({"get", "list", "watch"})
"""Their answers hold what the cluster has, not what the script has sent."""
_JSON: Final = "application/json"


def _unchanged(_call: request.Request, chunks: Iterator[bytes], _found: answer_body.Found) -> Iterator[bytes]:
    return chunks


def _unmasked(text: str, _found: answer_body.Found, _check: answer_body.Check) -> str:
    return text


def _log(record: records.Record) -> None:
    level = logging.INFO if record.verdict == "allow" else logging.WARNING
    names = ("context", "what", "verdict", "rule", "status", "fault", "ms", "bytes")
    fields = {name: getattr(record, name) for name in names}
    log.log(
        level,
        "%s %s %s",
        record.verdict,
        record.what,
        record.fault or record.status,
        extra={"event": "broker.call", **fields},
    )


class Broker:
    """One cluster behind one policy. Stateless between calls; called from many threads at once."""

    def __init__(
        self,
        cluster: base.Cluster,
        rules: policy.Policy,
        *,
        resolve: discovery.KindResolver | None = None,
        redact: answer_body.Redactor = _unchanged,
        redact_echo: answer_body.Redactor | None = None,
        mask: answer_body.Mask = _unmasked,
        record: Callable[[records.Record], None] = _log,
        context: str = "",
    ) -> None:
        """`context` names the cluster in records and receipts when it is one of several."""
        self._cluster = cluster
        self._policy = rules
        self._resolve = resolve
        self._redact = redact
        self._redact_echo = redact_echo or redact
        self._mask = mask
        self._sink = record
        self._context = context

    def handle(
        self,
        call: protocol.Call,
        tally: summary.Summary,
        timeout_s: float,
        cancel: cancellation.Cancellation | None = None,
    ) -> tuple[protocol.Reply, types.Response | None]:
        """Answer one call, no word of it unmasked.

        Without a fault the response is there and its `chunks` must be read or closed; they may raise KubescriptError,
        after which the answer counts as broken off.
        """
        tally.count(calls=1)
        ledger = ledgers.Ledger(tally, self._sink, self._mask, self._context)
        try:
            reply, response = self._handle(call, ledger, timeout_s, cancel or cancellation.Cancellation())
            return ledger.masked(reply), response
        except errors.AuditError as error:  # what cannot be put on record is not done, or not told
            return _unrecorded(tally, error), None

    def refuse(self, call: protocol.Call, tally: summary.Summary, error: errors.PolicyDenied) -> protocol.Reply:
        """Answer a call that is for no cluster at all: counted and recorded like any other, and not even parsed."""
        tally.count(calls=1)
        ledger = ledgers.Ledger(tally, self._sink, self._mask)
        ledger.note(tally.denied, f"{call.method} ({error.code})")
        try:
            ledger.keep(records.Record(f"unparsed {call.method}", "deny", error.code, fault=error.code))
        except errors.AuditError as worse:
            return _unrecorded(tally, worse)
        return _fault(error)

    def _handle(
        self, call: protocol.Call, ledger: ledgers.Ledger, timeout_s: float, cancel: cancellation.Cancellation
    ) -> _Answer:
        started = time.monotonic()
        try:
            parsed = _without_masks(request.parse(call))
        except errors.RequestError as error:
            ledger.note(ledger.tally.failed, f"{error.code} {call.method}")
            ledger.keep(records.Record(f"unparsed {call.method}", "refuse", fault=error.code))
            return _fault(error), None
        agent = ledger.tally.journal.agent
        parsed = replace(
            parsed,
            audit_id=str(uuid.uuid4()),
            agent=agent,
            deadline=started + timeout_s,
            cancelled=lambda: cancel.cancelled,
        )
        case = cases.Case(parsed, ledger, started, cancel)
        try:
            response = self._performed(case)
        except errors.AuditError:
            raise
        except errors.PolicyDenied as error:
            return _fault(error), None
        except errors.KubescriptError as error:
            return self._failed(case, error), None
        return self._answered(case, response)

    def _performed(self, case: cases.Case) -> types.Response:
        """The cluster's answer, if the call may be made. Raises KubescriptError and nothing else."""
        try:
            self._decide(case)
            case.tally.journal.before(case.call)
            return self._cluster.perform(logtail.widened(case.call), case.left, case.cancel)
        except errors.KubescriptError:
            raise
        except Exception:
            log.exception("the cluster failed in an unforeseen way", extra={"event": "broker.bug"})
            raise errors.KubescriptError(
                "the server failed to perform the call; this is a bug in kubescript, its log says more"
            ) from None

    def _decide(self, case: cases.Case) -> None:
        """Raises PolicyDenied unless the verdict is "allow": what nobody here can carry out (a plan) is refused too."""
        rules = self._policy
        if self._resolve is not None:  # a look-up in discovery ends with the call it decides on
            ask = functools.partial(self._resolve, timeout_s=case.left, cancel=case.cancel)
            named = functools.partial(self._resolve.named, timeout_s=case.left, cancel=case.cancel)
            rules = replace(rules, resolve=ask, named=named)
        decision = rules.decide(case.call)
        if decision.verdict == "allow":
            return
        what = request.describe(case.call)
        rule = decision.rule or "policy.denied"
        case.ledger.note(case.tally.denied, f"{case.kind} ({rule})")
        case.ledger.keep(records.Record(what, decision.verdict, rule, fault=rule, call=case.call))
        raise errors.PolicyDenied(
            f"{what}: denied by policy: {decision.reason}. {decision.instead}".rstrip(), code=rule
        )

    def _failed(self, case: cases.Case, error: errors.KubescriptError) -> protocol.Reply:
        case.note(case.tally.failed, error.code)
        if error.remedy:
            about = {"event": "cluster.remedy", "context": self._context}
            log.warning("%s: %s", case.ledger.text(error.message), error.remedy, extra=about)
        case.ledger.keep(case.ended(fault=error.code))
        return _fault(error)

    def _answered(self, case: cases.Case, response: types.Response) -> _Answer:
        case.head(response)
        promised = response.status == 200 and _is_json(case.call)
        if promised and not response.content_type.startswith(_JSON):
            response.close()
            kind = response.content_type.partition(";")[0][:50] or "nothing"
            broken = errors.ClusterError(
                f"the API server answered with {kind} instead of JSON",
                code="cluster.broken",
                remedy="check that `server` in the kubeconfig is an API server, and no login page or proxy",
            )
            return self._failed(case, broken), None
        reply = protocol.Reply(response.status, response.reason, response.content_type, dict(response.headers))
        return reply, self._watched(case, response, promised=promised)

    def _watched(self, case: cases.Case, response: types.Response, *, promised: bool) -> types.Response:
        """The response, its body masked as it is read, and its end kept."""
        if promised:
            response = case.tally.pages.followed(case.call, case.ledger.told(case.kind), response)
        body = answer_body.Body(response, case.tally, functools.partial(case.end, response.status), json=promised)
        echoes = response.status >= 400 or case.call.verb not in _ASKING
        chunks = body.masked(self._redact_echo if echoes else self._redact, logtail.widened(case.call))
        if response.status == 200:
            chunks = logtail.narrowed(case.call, chunks)
        return replace(response, chunks=chunks, close=body.close)


def _without_masks(parsed: request.Request) -> request.Request:
    """Raises RequestError for a body with a mask in it: written back, it would destroy the secret it stands for."""
    if parsed.body is not None and redaction.carried(parsed.body):
        raise errors.RequestError(
            f"{request.describe(parsed)}: the body holds a masked value («redacted:…»), which would overwrite the real "
            "one; patch only the fields you change",
            code="request.masked",
        )
    return parsed


def _is_json(parsed: request.Request) -> bool:
    """Whether a 200 to this request is one JSON object: objects and lists are, logs, health checks and watches are
    not."""
    objects = parsed.is_resource and parsed.verb in {"get", "list"} and parsed.subresource != "log"
    return objects and parsed.accept.startswith(_JSON)


def _unrecorded(tally: summary.Summary, error: errors.AuditError) -> protocol.Reply:
    tally.note(tally.failed, error.code)
    log.warning("%s: %s", error.message, error.remedy, extra={"event": "audit.unavailable"})
    return _fault(error)


def _fault(error: errors.KubescriptError) -> protocol.Reply:
    return protocol.Reply(0, fault=protocol.ScriptFault(error.code, error.message))
