"""The only way to a cluster: the broker parses, decides, performs, masks and records each call.

Every toolset and every script goes through `Broker.handle`; `Broker._answer` is the path of a call, step by step. The
input is hostile: any bytes that decode as a Call. The output is a reply that the worker may see. A refused or failed
call is an answer, not an exception. The broker notes in the script's summary what the script could not see, so that the
answer can say what is missing even when the script swallowed the error.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NoReturn, Protocol

from kubescript import errors, redaction, types
from kubescript.broker import answer, call, logview, operation, records
from kubescript.cluster import base
from kubescript.kube import metrics_apis
from kubescript.policy import decisions, denied_resources, kind_resolver, policy
from kubescript.request import metadata, nodes, releases, request
from kubescript.wire import exchanges
from kubescript_sandbox.wire import protocol

__all__ = ["Answer", "Broker", "Writer", "log_record", "refuse"]

log = logging.getLogger(__name__)

Answer = tuple[exchanges.Reply, types.Response | None]
"""Status and headers, and the body if any."""
_TOO_LATE: Final = "the script's time is nearly over, so this cluster was not asked; return what there is"
_READS: Final = frozenset({"get", "list", "watch"})
"""Verbs whose answers contain the cluster's data, not what the script sent."""


def _read_nothing(_asked: request.Request, _chunks: Iterator[bytes], _report: redaction.Report) -> NoReturn:
    # The redactor also leaves out everything but metadata, and checks whether the answer is complete.
    raise errors.RedactionError("nothing reads answers here, so this one was withheld")


def _mask_nothing(text: str, _found: call.Found, _check: call.Check) -> str:
    return text


class Writer(Protocol):
    """Dry-runs the writes to one cluster, and plans or sends them. Safe for use from many threads."""

    def write(self, call: call.Call) -> tuple[types.Response, bool]:
        """Returns the answer, and whether the write is only planned. Raises KubescriptError.

        The decision on the call is "plan", or "direct" for a write that is sent at once.
        """


class _NoWriter:
    """A writer that refuses everything."""

    def write(self, call: call.Call) -> NoReturn:
        raise errors.PlanError("writes cannot be tried here: nothing compares objects", code="plan.nobody")


def log_record(record: records.Record) -> None:
    """Writes a line about a call to the server's log."""
    level = logging.WARNING if record.verdict in {"deny", "refuse"} else logging.INFO
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


def refuse(asked: exchanges.Call, operation: operation.Operation, error: errors.KubescriptError) -> exchanges.Reply:
    """Answers a call for an unknown cluster. It is counted and recorded like any other, but not parsed."""
    operation.summary.count_call()
    made = call.Call(_begin_request(asked), operation, log_record, _mask_nothing)
    try:
        made.misdirect(error.code)
    except errors.AuditError as worse:
        return _refuse_unrecorded(operation, worse)
    return _fault(error)


class Broker:
    """One cluster behind one policy. It keeps no state between calls and is safe for use from many threads."""

    def __init__(
        self,
        cluster: base.Server,
        rules: policy.Policy,
        *,
        resolve: kind_resolver.KindResolver | None = None,
        redact: answer.Redactor = _read_nothing,
        redact_echo: answer.Redactor | None = None,
        mask: call.Mask = _mask_nothing,
        record: call.Log = log_record,
        writer: Writer | None = None,
        gzip: bool = False,
        context: str = "",
    ) -> None:
        """`gzip` says whether `redact` accepts compressed bodies. Without a `writer`, writes are refused.

        `context` names the cluster in records and notes when it is one of several.
        """
        self._cluster = cluster
        self._policy = rules
        self._resolve = resolve
        self._redact = redact
        self._redact_echo = redact_echo or redact
        self._mask = mask
        self._log = record
        self._gzip = gzip
        self._context = context
        self._peer = answer.API_SERVER
        self._writer = writer or _NoWriter()

    def handle(self, asked: exchanges.Call, operation: operation.Operation, timeout_s: float) -> Answer:
        """Answers one call. All text of the reply is masked; the operation's summary notes what the script does not
        see.

        A reply without a fault comes with a response, whose `chunks` must be read or closed. The chunks may raise
        KubescriptError; the answer then counts as cut short.
        """
        operation.summary.count_call()
        made = call.Call(_begin_request(asked), operation, self._log, self._mask, self._context)
        try:
            return self._answer_in_any_case(made, asked, timeout_s)
        except errors.AuditError as error:  # a call that cannot be recorded is not made, or its answer is withheld
            made.close()
            return _refuse_unrecorded(operation, error), None

    def _answer_in_any_case(self, call: call.Call, asked: exchanges.Call, timeout_s: float) -> Answer:
        """Returns the answer. Unforeseen failures are recorded too, and their connections closed."""
        try:
            return self._answer(call, asked, timeout_s)
        except errors.AuditError:
            raise
        except Exception:
            log.exception("a call failed in an unforeseen way", extra={"event": "broker.bug"})
            call.close()
            call.fail(_bug())
            return _fault(_bug()), None

    def _answer(self, call: call.Call, asked: exchanges.Call, timeout_s: float) -> Answer:
        """Performs all steps of a call; returns the answer, or the fault that ended it.

        The headers are masked by then. The body is masked while it is read (`answer.Body`), and its end records the
        call.
        """
        response = None
        try:
            self._parse(call, asked, timeout_s)
            if timeout_s <= 0:
                raise errors.ClusterError(_TOO_LATE, code="cluster.timeout")
            self._decide(call)
            self._perform(call)
            reply = self._check_head(call)
            response = self._mask_body(call)
        except errors.AuditError:
            raise
        except errors.KubescriptError as error:
            call.close()
            call.fail(error)
            reply = _fault(error)
        return call.mask_reply(reply), response

    def _parse(self, call: call.Call, asked: exchanges.Call, timeout_s: float) -> None:
        """Parses the request, and sets its audit id and deadline. Raises RequestError."""
        parsed = self._read(asked)
        _check_masks(parsed)
        cancel = call.operation.cancellation
        parsed = replace(
            parsed,
            # API servers do not compress streams, and a proxy that does may delay events.
            gzip=self._gzip and parsed.method == "GET" and not parsed.is_live,
            audit_id=str(uuid.uuid4()),
            agent=call.operation.journal.agent,
            deadline=time.monotonic() + timeout_s,
            script=id(call.operation),
            cancelled=lambda: cancel.cancelled,
        )
        call.sent = self._send_as(parsed)
        call.request = parsed

    # Overridden for the sources, whose calls have a form of their own.
    def _read(self, asked: exchanges.Call) -> request.Request:
        """Returns the request that a call asks for. Raises RequestError."""
        return nodes.parse(asked) if nodes.is_for_node(asked) else request.parse(asked)

    def _send_as(self, parsed: request.Request) -> request.Request:
        """Returns the request that is sent for this one. Raises RequestError."""
        if parsed.is_release:
            return releases.resolve(parsed)
        # Attack: a script chooses which part of a log it reads, so that the masker does not recognize a secret.
        return logview.canonical(parsed) if answer.is_log(parsed) else parsed

    def _decide(self, call: call.Call) -> None:
        """Decides whether the call may be made. Raises PolicyDenied."""
        decision = self._rules(call).decide(call.request)
        if decision.verdict == "deny":
            raise call.deny(decision)
        call.decision = decision
        serves_part = decision.verdict == "allow" and decision.serve != "whole"
        # A Helm release is already asked for in a form of its own.
        if serves_part and not call.sent.metadata_rule:
            call.request = call.sent = self._reduce(call)
        if decision.namespaces:
            call.request = call.sent = metadata.within(call.request, decision.namespaces)

    @staticmethod
    def _reduce(call: call.Call) -> request.Request:
        """Returns the request for the permitted part of the same objects. Raises PolicyDenied."""
        decision = call.decision
        ask_for = metadata.keys if decision.serve == "keys" else metadata.only
        try:
            return ask_for(call.request, decision.rule, decision.kind)
        except errors.PolicyDenied as error:
            raise call.deny(decisions.Decision("deny", error.code, error.message)) from None

    def _rules(self, call: call.Call) -> policy.Policy:
        """Returns the policy; its discovery look-ups end at the deadline of the call that it decides on."""
        resolver = self._resolve
        if resolver is None:
            return self._policy
        cancel = call.operation.cancellation

        # The remaining time is read at each look-up: several of them share the call's deadline.
        def resolve(group: str, version: str, resource: str) -> str | None:
            return resolver(group, version, resource, call.seconds_left, cancel)

        def named(rule: denied_resources.DeniedResource) -> bool | None:
            return resolver.serves(rule, call.seconds_left, cancel)

        return replace(self._policy, resolve=resolve, named=named)

    def _perform(self, call: call.Call) -> None:
        """Has the cluster begin its answer; a write is dry-run first, and may only be planned. Raises
        KubescriptError."""
        if call.decision.verdict != "allow":
            call.response, call.is_planned = self._writer.write(call)
            return
        operation = call.operation
        operation.summary.take()
        # A call that cannot be put on record is not sent.
        operation.journal.before(call.request, call.cluster)
        call.response = self._cluster.perform(call.sent, call.seconds_left, operation.cancellation)

    def _check_head(self, call: call.Call) -> exchanges.Reply:
        """Returns the answer's status and headers. Raises ClusterError if its peer would not give such an answer."""
        response = call.response
        assert response is not None
        call.note_answer(response)
        broken = answer.find_fault(call.request, response, self._peer)
        if broken is not None:
            raise broken
        return exchanges.Reply(
            response.status,
            response.reason,
            response.content_type,
            dict(response.headers),
            metadata_rule="" if call.decision.serve == "keys" else call.request.metadata_rule,
            planned=call.is_planned,
        )

    def _is_echo(self, call: call.Call, response: types.Response) -> bool:
        """Says whether the answer may repeat words of the script."""
        # Errors and answers to writes quote what the script sent, and an adapter of metrics its selector.
        is_quoted = call.request.verb not in _READS or call.request.group in metrics_apis.GROUPS
        return response.status >= 400 or is_quoted

    def _watch(self, _call: call.Call, redact: answer.Redactor) -> answer.Redactor:
        """Returns what masks the body of a call, and may judge what the masking process says of it."""
        return redact

    def _mask_body(self, call: call.Call) -> types.Response:
        """Returns the answer with a body that is masked while it is read."""
        response = call.response
        assert response is not None
        redact = self._redact_echo if self._is_echo(call, response) else self._redact
        body = answer.Body(call, response)
        chunks = body.mask(self._watch(call, redact))
        # The masking process decompresses the body: the host, which has the credentials, decompresses nothing.
        return replace(response, chunks=chunks, close=body.close, gzip=False)


def _begin_request(asked: exchanges.Call) -> request.Request:
    """Returns a placeholder request without a path, for a call that is not parsed yet."""
    return request.Request(asked.method, "", (), "", is_resource=False)


def _check_masks(parsed: request.Request) -> None:
    """Raises RequestError for a body that contains a mask."""
    # Writing a mask back would overwrite the secret behind it.
    if parsed.body is not None and redaction.has_placeholder(parsed.body):
        raise errors.RequestError(
            "the body holds a mask («redacted:…»); patch only the fields you change",
            code="request.masked",
        )


def _refuse_unrecorded(operation: operation.Operation, error: errors.AuditError) -> exchanges.Reply:
    """Answers a call that the journal cannot record, and tells the operator."""
    operation.summary.refuse(error.code)
    about = {"event": "audit.unavailable"}
    log.warning("%s: %s", error.message, error.remedy, extra=about)
    return _fault(error)


def _bug() -> errors.KubescriptError:
    return errors.KubescriptError("the call failed because of a bug in kubescript; see the server's log")


def _fault(error: errors.KubescriptError) -> exchanges.Reply:
    """Returns the reply that raises this error in the script."""
    fault = protocol.ScriptFault(error.code, error.message)
    return exchanges.Reply(0, fault=fault)
