"""The only way to a cluster: the broker parses, decides, performs, redacts and records each call.

Every toolset and every script goes through `handle`.

The input is hostile: any bytes that decode as a Call. The output is a reply that the worker may see. A refused or
failed call is an answer and not an exception. The broker notes in the script's summary what the script could not see,
so that the answer can say what is missing even when the script swallowed the error.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, NoReturn, Protocol

import msgspec

from kubescript import errors, redaction, types
from kubescript.broker import answers, body, call_log, logview, records, summary
from kubescript.cluster import base
from kubescript.policy import kind_resolver, policy
from kubescript.request import metadata, releases, request
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation
from kubescript_sandbox.wire import protocol

__all__ = ["Broker", "Writer", "log_record"]

log = logging.getLogger(__name__)

_Answer = tuple[exchanges.Reply, types.Response | None]
_READS: Final = frozenset({"get", "list", "watch"})
"""Verbs whose answers hold what the cluster has, and not what the script has sent."""


def _unread(_call: request.Request, _chunks: Iterator[bytes], _report: redaction.Report) -> NoReturn:
    # What masks also leaves out everything but metadata, and says whether the answer is whole.
    raise errors.RedactionError("nothing reads answers here, so this one was withheld")


def _unmasked(text: str, _found: call_log.Found, _check: call_log.Check) -> str:
    return text


class Writer(Protocol):
    """Tries the writes to one cluster, and plans or sends them. Many threads use it at once."""

    def write(
        self,
        call: request.Request,
        verdict: policy.Verdict,
        entry: call_log.CallLog,
        cancel: cancellation.Cancellation,
    ) -> tuple[types.Response, bool]:
        """Returns the answer, and whether the write is only planned. Raises KubescriptError.

        `verdict` is "plan", or "direct" for a write that is sent at once.
        """


class _NoWriter:
    """Tries nothing."""

    def write(
        self,
        call: request.Request,
        verdict: policy.Verdict,
        entry: call_log.CallLog,
        cancel: cancellation.Cancellation,
    ) -> NoReturn:
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


class Broker:
    """One cluster behind one policy. It keeps no state between calls; many threads call it at once."""

    def __init__(
        self,
        cluster: base.Cluster,
        rules: policy.Policy,
        *,
        resolve: kind_resolver.KindResolver | None = None,
        redact: body.Redactor = _unread,
        redact_echo: body.Redactor | None = None,
        mask: call_log.Mask = _unmasked,
        record: Callable[[records.Record], None] = log_record,
        writer: Writer | None = None,
        gzip: bool = False,
        context: str = "",
    ) -> None:
        """`gzip` says that `redact` takes compressed bodies. Without a `writer` no write can be tried.

        `context` names the cluster in records and notes when it is one of several.
        """
        self._cluster = cluster
        self._policy = rules
        self._resolve = resolve
        self._redact = redact
        self._redact_echo = redact_echo or redact
        self._mask = mask
        self._sink = record
        self._gzip = gzip
        self._context = context
        self._writer = writer or _NoWriter()

    def handle(
        self,
        call: exchanges.Call,
        summary: summary.Summary,
        timeout_s: float,
        cancel: cancellation.Cancellation | None = None,
    ) -> tuple[exchanges.Reply, types.Response | None]:
        """Answers one call. All text of the reply is masked; `summary` notes what the script does not get to see.

        When the reply has no fault, there is a response, whose `chunks` must be read or closed. The chunks may raise
        KubescriptError; the answer then counts as broken off.
        """
        summary.count_call()
        entry = call_log.CallLog(summary, self._sink, self._mask, self._context)
        try:
            return self._recorded(call, entry, timeout_s, cancel or cancellation.Cancellation())
        except errors.AuditError as error:  # a call that cannot be recorded is not made, or its answer is withheld
            return _unrecorded(summary, error), None

    def refuse(self, call: exchanges.Call, summary: summary.Summary, error: errors.PolicyDenied) -> exchanges.Reply:
        """Answers a call that names no known cluster. It is counted and recorded like any other, but not parsed."""
        summary.count_call()
        try:
            call_log.CallLog(summary, self._sink, self._mask).misdirected(call.method, error.code)
        except errors.AuditError as worse:
            return _unrecorded(summary, worse)
        return _fault(error)

    def _recorded(
        self, call: exchanges.Call, entry: call_log.CallLog, timeout_s: float, cancel: cancellation.Cancellation
    ) -> _Answer:
        """Returns the masked answer. What fails in an unforeseen way is recorded too, and holds no connection."""
        opened = contextlib.ExitStack()
        try:
            reply, response = self._answer(call, entry, timeout_s, cancel, opened)
            return entry.masked(reply), response
        except errors.AuditError:
            opened.close()
            raise
        except Exception:
            log.exception("a call failed in an unforeseen way", extra={"event": "broker.bug"})
            opened.close()
            entry.broke(call.method, _bug())
            return _fault(_bug()), None

    def _answer(
        self,
        call: exchanges.Call,
        entry: call_log.CallLog,
        timeout_s: float,
        cancel: cancellation.Cancellation,
        opened: contextlib.ExitStack,
    ) -> _Answer:
        """Returns the answer; `opened` closes what it holds of the cluster."""
        try:
            parsed = self._parsed(call, entry, timeout_s, cancel)
            sent = _sent(parsed)
        except errors.RequestError as error:
            entry.malformed(call.method, error.code)
            return _fault(error), None
        try:
            decision = self._decided(parsed, entry, cancel)
            if decision.verdict != "allow":
                response, planned = self._written(parsed, decision, entry, cancel)
                return self._opened(parsed, parsed, entry, response, opened, planned=planned)
            if decision.serve == "metadata" and not sent.metadata_rule:
                parsed = sent = entry.call = self._reduced(parsed, decision, entry)
            response = self._performed(parsed, sent, entry, cancel)
        except errors.AuditError:
            raise
        except errors.PolicyDenied as error:
            return _fault(error), None
        except errors.KubescriptError as error:
            entry.failed(error)
            return _fault(error), None
        return self._opened(parsed, sent, entry, response, opened)

    def _opened(
        self,
        parsed: request.Request,
        sent: request.Request,
        entry: call_log.CallLog,
        response: types.Response,
        opened: contextlib.ExitStack,
        *,
        planned: bool = False,
    ) -> _Answer:
        """Returns the answer to a call that the cluster has begun to answer."""
        opened.callback(response.close)
        entry.answered(parsed, response)
        reply, response_or_none = self._checked(parsed, sent, entry, response)
        return msgspec.structs.replace(reply, planned=planned), response_or_none

    def _written(
        self,
        call: request.Request,
        decision: policy.Decision,
        entry: call_log.CallLog,
        cancel: cancellation.Cancellation,
    ) -> tuple[types.Response, bool]:
        """Tries a write, and plans or sends it. Raises KubescriptError and nothing else."""
        try:
            return self._writer.write(call, decision.verdict, entry, cancel)
        except errors.KubescriptError:
            raise
        except Exception:
            log.exception("a write failed in an unforeseen way", extra={"event": "broker.bug"})
            raise _bug() from None

    def _parsed(
        self, call: exchanges.Call, entry: call_log.CallLog, timeout_s: float, cancel: cancellation.Cancellation
    ) -> request.Request:
        """Returns the request that the call asks for, with its audit id and its deadline. Raises RequestError."""
        parsed = request.parse(call)
        _check_masks(parsed)
        entry.call = replace(
            parsed,
            # API servers compress no stream, and a proxy that does may hold its events back.
            gzip=self._gzip and parsed.method == "GET" and not parsed.is_live,
            audit_id=str(uuid.uuid4()),
            agent=entry.summary.journal.agent,
            deadline=time.monotonic() + timeout_s,
            script=id(entry.summary),
            cancelled=lambda: cancel.cancelled,
        )
        return entry.call

    def _decided(
        self, call: request.Request, entry: call_log.CallLog, cancel: cancellation.Cancellation
    ) -> policy.Decision:
        """Returns the decision. Raises PolicyDenied when the verdict is "deny"."""
        try:
            decision = self._rules(call, cancel).decide(call)
        except errors.KubescriptError:
            raise
        except Exception:
            log.exception("the policy failed in an unforeseen way", extra={"event": "broker.bug"})
            raise _bug() from None
        if decision.verdict == "deny":
            raise entry.refusal(call, decision)
        return decision

    @staticmethod
    def _reduced(call: request.Request, decision: policy.Decision, entry: call_log.CallLog) -> request.Request:
        """Returns the request for the metadata of the same objects. Raises PolicyDenied."""
        try:
            return metadata.only(call, decision.rule, decision.kind)
        except errors.PolicyDenied as error:
            raise entry.refusal(call, policy.Decision("deny", error.code, error.message)) from None

    def _rules(self, call: request.Request, cancel: cancellation.Cancellation) -> policy.Policy:
        """Returns the policy; its look-ups in discovery end at the deadline of the call that it decides on."""
        if self._resolve is None:
            return self._policy
        left = _seconds_left(call)
        resolve = functools.partial(self._resolve, timeout_s=left, cancel=cancel)
        named = functools.partial(self._resolve.serves, timeout_s=left, cancel=cancel)
        return replace(self._policy, resolve=resolve, named=named)

    def _performed(
        self,
        call: request.Request,
        sent: request.Request,
        entry: call_log.CallLog,
        cancel: cancellation.Cancellation,
    ) -> types.Response:
        """Returns the cluster's answer if the call may be made. Raises KubescriptError and nothing else."""
        try:
            entry.summary.take()
            entry.summary.journal.before(call)
            return self._cluster.perform(sent, _seconds_left(call), cancel)
        except errors.KubescriptError:
            raise
        except Exception:
            log.exception("the cluster failed in an unforeseen way", extra={"event": "broker.bug"})
            raise _bug() from None

    def _checked(
        self, call: request.Request, sent: request.Request, entry: call_log.CallLog, response: types.Response
    ) -> _Answer:
        """Returns the reply and the body; a fault when it is none that an API server gives."""
        broken = answers.fault(call, response)
        if broken is not None:
            response.close()
            entry.failed(broken)
            return _fault(broken), None
        reply = exchanges.Reply(
            response.status,
            response.reason,
            response.content_type,
            dict(response.headers),
            metadata_rule=call.metadata_rule,
        )
        passing = body.Body(response, entry, answers.form(call, response))
        # Errors and the answers to writes quote what the script itself sent.
        echoes = response.status >= 400 or call.verb not in _READS
        redact = self._redact_echo if echoes else self._redact
        shape: body.Shape = iter
        if answers.is_log(call) and response.status == 200:
            shape = functools.partial(logview.shaped, call, date=response.date)
        masked = replace(response, chunks=passing.masked(redact, sent, shape), close=passing.close, gzip=False)
        return reply, masked


def _sent(parsed: request.Request) -> request.Request:
    """Returns the request that is sent for this one. Raises RequestError."""
    if releases.is_release(parsed):
        return releases.resolve(parsed)
    return logview.canonical(parsed) if answers.is_log(parsed) else parsed


def _seconds_left(call: request.Request) -> float:
    """Returns the seconds until nobody needs the answer any more."""
    return max(0.001, call.deadline - time.monotonic())


def _check_masks(parsed: request.Request) -> None:
    """Raises RequestError for a body that holds a mask."""
    # A mask that is written back would overwrite the secret that it stands for.
    if parsed.body is not None and redaction.has_placeholder(parsed.body):
        raise errors.RequestError(
            "the body holds a mask («redacted:…»); patch only the fields you change",
            code="request.masked",
        )


def _unrecorded(summary: summary.Summary, error: errors.AuditError) -> exchanges.Reply:
    summary.refuse(error.code)
    log.warning("%s: %s", error.message, error.remedy, extra={"event": "audit.unavailable"})
    return _fault(error)


def _bug() -> errors.KubescriptError:
    return errors.KubescriptError("the call failed because of a bug in kubescript; see the server's log")


def _fault(error: errors.KubescriptError) -> exchanges.Reply:
    return exchanges.Reply(0, fault=protocol.ScriptFault(error.code, error.message))
