"""The log of one call: notes for the answer, a line in the server's log, a record in the journal.

The broker makes one `CallLog` for each call. It masks everything that it writes, and names the cluster when the server
has several. The thread that ends the body writes the last entry; it may be another thread than the one before.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from kubescript import errors, redaction, types
from kubescript.broker import answers, records, summary
from kubescript.broker.summary import IN_NAMESPACE
from kubescript.kube import kinds
from kubescript.output import notes
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_masking.wire import masking
from kubescript_sandbox.host import cancellation

__all__ = ["CLOSED", "CallLog", "Check", "Found", "Mask"]

log = logging.getLogger(__name__)

Found = Callable[[str], None]
"""Called with the kind of each value that was masked."""
Check = Callable[[], None]
"""Raises KubescriptError when nobody waits for the text any more."""
Mask = Callable[[str, Found, Check], str]
"""Masks secret values in a text that leaves the server, and reports the kind of each. Raises what the check raises."""

CLOSED: Final = "closed"
"""The end of a body whose reader stopped early by choice; nothing failed."""
# These statuses say what is wrong with a write, of which nothing was to be seen.
_REFUSED_WRITE: Final = frozenset({400, 404, 405, 409, 415, 422})
_NOTHING: Final[Mapping[str, int]] = {}
# Seconds that masking one header or error text may take. These texts are short, unless an attacker made one that is
# expensive to mask.
_MASKING_S: Final = 1.0
# Characters of one masked header or error text. Attack: a masker that was taken over answers with so much that the
# reply fits into no frame, for which the worker would be blamed.
_MAX_TEXT: Final = 4_000


_PLAIN_CODES: Final = errors.PLAIN_CODES | {"plan.changed", "plan.closed", "plan.nobody", "plan.too_large"}
"""Of faults whose text quotes nothing of the cluster, and no name of the call."""
_READS: Final = frozenset({"get", "list", "watch"})
_METRICS: Final = frozenset({("metrics.k8s.io", "nodes"), ("metrics.k8s.io", "pods")})
"""Resources that are not built in and that the SDK itself asks for."""
_SUBRESOURCES: Final = kinds.READ_SUBRESOURCES | kinds.WRITE_SUBRESOURCES | kinds.SUBRESOURCE_KINDS.keys()


class CallLog:
    """Notes, logs and records what becomes of one call."""

    def __init__(
        self, calls: summary.Summary, sink: Callable[[records.Record], None], mask: Mask, context: str = ""
    ) -> None:
        """`calls` is the summary of the call's script; `context` names the cluster when the server has several."""
        self.summary = calls
        self.context = context
        self.call: request.Request | None = None
        """The request; None until the call is parsed."""
        self.verdict: policy.Verdict = "allow"
        """What became of a call that was performed: a write may be planned only."""
        self._sink = sink
        self._mask = mask
        self._started = time.monotonic()
        self._is_recorded = False
        self._refusal: notes.Note | None = None
        """What `refusal` told the script."""

    @property
    def what(self) -> notes.Note:
        """Describes the call without the name of its object."""
        # Without the name, the same failure for a hundred pods is one note.
        return notes.Note("") if self.call is None else _describe(replace(self.call, name=""))

    def located(self, note: notes.Note) -> notes.Note:
        """Returns the note with the cluster's name before it when the server has several."""
        return note.within(f"{self.context}: ") if self.context else note

    # The ways in which a call can end. Each method raises AuditError when the call cannot be recorded.

    def malformed(self, method: str, code: str) -> None:
        """Notes and records a call that could not be parsed."""
        self._note(self.summary.failed, notes.Note(f"{code} {method}"))
        self._write(records.Record(f"unparsed {method}", "refuse", fault=code))

    def misdirected(self, method: str, code: str) -> None:
        """Notes and records a call that names no known cluster."""
        self._note(self.summary.denied, notes.Note(f"{method} ({code})"))
        self._write(records.Record(f"unparsed {method}", "deny", code, fault=code))

    def denied(self, call: request.Request, verdict: str, rule: str) -> None:
        """Notes and records a call that the policy did not allow."""
        self._note(self.summary.denied, self.what.within("", f" ({rule})"))
        self._write(records.Record(request.describe(call), verdict, rule, fault=rule, call=call))

    def refusal(self, call: request.Request, decision: policy.Decision) -> errors.PolicyDenied:
        """Notes and records a call that the policy did not allow; returns its error for the script."""
        rule = decision.rule or "policy.denied"
        self.denied(call, decision.verdict, rule)
        reason = "; ".join(filter(None, (decision.reason, decision.instead)))
        self._refusal = _describe(call).within("", f": {reason}")
        return errors.PolicyDenied(str(self._refusal), code=rule)

    def broke(self, method: str, error: errors.KubescriptError) -> None:
        """Notes and records a call that a fault of ours ended, unless it is on record already."""
        if self._is_recorded:
            return
        if self.call is None:
            self.malformed(method, error.code)
        else:
            self.failed(error)

    def failed(self, error: errors.KubescriptError) -> None:
        """Notes and records a call that was allowed and got no answer from the cluster."""
        self._note(self.summary.failed, self.what.within(f"{error.code} "))
        if error.remedy:
            about = {"event": "cluster.remedy", "context": self.context}
            log.warning("%s: %s", self.text(error.message), error.remedy, extra=about)
        self._write(self._performed(fault=error.code))

    def answered(self, call: request.Request, response: types.Response) -> None:
        """Notes the head of an answer; the body comes later."""
        if response.status >= 400 and not _is_harmless(call, response):
            self._note(self.summary.failed, self.what.within(f"{response.status} "))
        if "warning" in response.headers:
            self._note(self.summary.warnings, notes.of([(self.text(response.headers["warning"]), False)]))

    def event_error(self, status: int) -> None:
        """Notes that a watch has ended with an error."""
        self._note(self.summary.failed, self.what.within(f"{status} "))

    def ended(
        self,
        status: int,
        fault: str = "",
        size: int = 0,
        redacted: Mapping[str, int] = _NOTHING,
        trailer: masking.Trailer | None = None,
    ) -> None:
        """Records how the body ended; `trailer` says what it was, when it was read to its end."""
        if fault not in {"", CLOSED}:
            self._note(self.summary.failed, self.what.within(f"{fault} "))
        for kind, count in redacted.items():
            self.summary.found(kind, count)
        if trailer is not None and status == 200 and self.call is not None:
            self._seen(self.call, trailer)
        record = self._performed(status=status, fault=fault, size=size)
        self._write(replace(record, redacted=redacted))

    def _seen(self, call: request.Request, trailer: masking.Trailer) -> None:
        """Notes what a read has shown."""
        if call.namespace and call.verb in _READS:
            is_empty = call.verb != "get" and not trailer.items
            self.summary.listed_namespaces.listed(self.context, call.namespace, empty=is_empty)
        if call.verb == "list":
            self.summary.pages.read(call, self.context, self.located(self.what), trailer)

    # Masking of the texts of a call

    def text(self, text: str) -> str:
        """Returns `text` masked; a text whose masking takes too long is withheld."""
        if not text:
            return text
        try:
            cancelled = self.call.cancelled if self.call is not None else bool
            masked = self._mask(text, self.summary.found, cancellation.Patience(_MASKING_S, cancelled))
            return masked[:_MAX_TEXT]
        except (errors.LimitExceeded, errors.RedactionError):
            return redaction.WITHHELD

    def masked(self, reply: exchanges.Reply) -> exchanges.Reply:
        """Returns the reply with every text masked."""
        # The reason phrase, the headers and the error texts come from the API server just as its bodies do.
        fault = reply.fault
        if fault is not None:
            fault = msgspec.structs.replace(fault, message=self.text(fault.message))
            ours = notes.Note(fault.message) if fault.code in _PLAIN_CODES else self._refusal
            if ours is not None:
                self.summary.report_denial(fault.code, fault.message, ours)
        return msgspec.structs.replace(
            reply,
            reason=self.text(reply.reason),
            content_type=self.text(reply.content_type),
            headers={name: self.text(value) for name, value in reply.headers.items()},
            fault=fault,
        )

    def _note(self, noted: dict[notes.Note, int], note: notes.Note) -> None:
        self.summary.note(noted, self.located(note))

    def _performed(self, *, status: int = 0, fault: str = "", size: int = 0) -> records.Record:
        """Returns the record of a call that was allowed and has ended."""
        ms = round((time.monotonic() - self._started) * 1000, 1)
        what = rule = ""
        if self.call is not None:
            what = request.describe(self.call)
            rule = self.call.metadata_rule
        return records.Record(what, self.verdict, rule, status=status, fault=fault, ms=ms, bytes=size, call=self.call)

    def _write(self, record: records.Record) -> None:
        """Writes the record to the log and the journal. Raises AuditError."""
        self._is_recorded = True
        record = replace(record, context=self.context)
        self.summary.add_record(record)
        self._sink(record)
        self.summary.journal.record(record)


def _describe(call: request.Request) -> notes.Note:
    """Returns `request.describe`, with a place for each name that is not Kubernetes' own."""
    if not call.is_resource:
        return notes.of([(f"{call.method} ", True), (call.path, False)])
    is_known = (call.group, call.resource) in _METRICS or kinds.kind_of(call.group, call.resource) is not None
    parts = [(f"{call.verb} ", True), (call.resource, is_known)]
    if call.subresource:
        parts += [("/", True), (call.subresource, call.subresource in _SUBRESOURCES)]
    if call.group:
        parts += [(".", True), (call.group, is_known or call.group in kinds.BUILT_IN)]
    if call.name:
        parts += [(" ", True), (call.name, False)]
    if call.namespace and call.resource != "namespaces":
        parts += [(IN_NAMESPACE, True), (call.namespace, False)]
    return notes.of(parts)


def _is_harmless(call: request.Request, response: types.Response) -> bool:
    """Says whether a script that swallows this error has missed nothing."""
    if call.method == "GET":  # an object or a document that does not exist has nothing to be seen
        return answers.is_absence(call, response)
    return response.status in _REFUSED_WRITE
