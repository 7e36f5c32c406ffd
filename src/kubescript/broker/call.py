"""One call in progress: its state, and its notes, log lines and record.

The broker makes one `Call` for each call of a script and fills it in; the writer makes one for each of its own
requests. It masks everything that it writes, and names the cluster when the server has several. The thread that ends
the body writes the record; it may not be the thread that made the call.
"""

from __future__ import annotations

import http
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from kubescript import errors, redaction, types
from kubescript.broker import operation, records
from kubescript.broker.summary import IN_NAMESPACE
from kubescript.kube import kinds
from kubescript.output import notes
from kubescript.policy import decisions
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_masking.wire import masking
from kubescript_sandbox.host import cancellation
from kubescript_sandbox.wire import protocol

__all__ = ["CLOSED", "Call", "Check", "Found", "Log", "Mask", "is_absence"]

log = logging.getLogger(__name__)

Found = Callable[[str], None]
"""A function that is called with the kind of each masked value."""
Check = Callable[[], None]
"""A check that raises KubescriptError when the text is no longer needed."""
Mask = Callable[[str, Found, Check], str]
"""A function that masks secret values in outgoing text, and reports the kind of each. Raises what the check raises."""
Log = Callable[[records.Record], None]
"""A function that writes a line about a finished call to the server's log."""

CLOSED: Final = "closed"
"""The end of a body whose reader stopped early on purpose; nothing failed."""
_UNDECIDED: Final = decisions.Decision("deny")
# These statuses report a faulty write, so the script missed nothing.
_REFUSED_WRITE: Final = frozenset({400, 404, 405, 409, 415, 422})
_NOTHING: Final[Mapping[str, int]] = {}
_HARMLESS: Final = frozenset(
    {"", "application/json", "application/json;stream=watch", "text/plain", "text/plain; charset=utf-8"}
    | {status.phrase for status in http.HTTPStatus}
)
"""Common header texts in answers of API servers; they contain no secrets, so they skip the masker."""
# Seconds that masking one header or error text may take. These texts are short, unless an attacker made one that is
# expensive to mask.
_MASKING_S: Final = 1.0
# The maximum number of characters of one masked header or error text. Attack: a compromised masker returns so much text
# that the reply exceeds a frame, for which the worker would be blamed.
_MAX_TEXT: Final = 4_000
_PLAIN_CODES: Final = errors.PLAIN_CODES | {"plan.changed", "plan.closed", "plan.nobody", "plan.too_large"}
"""Codes of faults whose text quotes nothing from the cluster and no name from the call."""
_READS: Final = frozenset({"get", "list", "watch"})
_NEVER_ABSENT: Final = ("/api", "/version", "/kubescript")
"""Path prefixes of documents whose absence hides more: the kinds of a group, or all that a source knows."""
_METRICS: Final = frozenset({("metrics.k8s.io", "nodes"), ("metrics.k8s.io", "pods")})
"""Resources that are not built in but that the SDK itself reads."""
_SUBRESOURCES: Final = kinds.READ_SUBRESOURCES | kinds.WRITE_SUBRESOURCES | kinds.SUBRESOURCE_KINDS.keys()


class Call:
    """One call: its request, decision and answer, and its notes and record."""

    def __init__(
        self, request: request.Request, operation: operation.Operation, log: Log, mask: Mask, cluster: str = ""
    ) -> None:
        """`cluster` names the cluster when the server has several."""
        self.operation = operation
        self.cluster = cluster
        self.request = request
        """The request as judged and recorded."""
        self.sent = request
        """The request as sent: equal to `request`, except for a log, a Helm release or metadata only."""
        self.decision: decisions.Decision = _UNDECIDED
        self.response: types.Response | None = None
        """The cluster's answer, once it has begun."""
        self.is_planned = False
        """Whether the answer is that of a dry run, and the write waits in a plan."""
        self.verdict: decisions.Verdict = "allow"
        """The outcome of a performed call: a write may only be planned."""
        self._summary = operation.summary
        self._log = log
        self._mask = mask
        self._started = time.monotonic()
        self._is_recorded = False
        self._refusal: notes.Note | None = None
        """The message that `deny` sends to the script."""

    @property
    def is_parsed(self) -> bool:
        """Whether the request has been parsed and so has a path."""
        return bool(self.request.path)

    @property
    def what(self) -> notes.Note:
        """Describes the call without its object's name."""
        if not self.is_parsed:
            return notes.Note("")
        # Without the name, the same failure for a hundred pods is one note.
        nameless = replace(self.request, name="") if self.request.name else self.request
        return _describe(nameless)

    @property
    def seconds_left(self) -> float:
        """Seconds until the answer is no longer needed."""
        return max(0.001, self.request.deadline - time.monotonic())

    def close(self) -> None:
        """Stops the rest of the cluster's answer."""
        if self.response is not None:
            self.response.close()

    def derive(self, request: request.Request) -> Call:
        """Returns a call that kubescript makes for this one, with a separate record."""
        # The notes describe the script's own requests, and this is not one.
        return Call(request, self.operation.aside(), self._log, self._mask, self.cluster)

    # The possible endings of a call. Each method raises AuditError when the call cannot be recorded.

    def misdirect(self, code: str) -> None:
        """Notes and records a call for an unknown cluster."""
        method = self.request.method
        note = notes.Note(f"{method} ({code})")
        self._note(self._summary.denied, note)
        record = records.Record(f"unparsed {method}", "deny", code, fault=code)
        self._record(record)

    def deny(self, decision: decisions.Decision, described: notes.Note | None = None) -> errors.PolicyDenied:
        """Notes and records that the policy denies the call; returns the error for the script, which begins with
        `described` or with the request."""
        rule = decision.rule or "policy.denied"
        note = self.what.within("", f" ({rule})")
        self._note(self._summary.denied, note)
        what = request.describe(self.request)
        record = records.Record(what, decision.verdict, rule, fault=rule, call=self.request)
        self._record(record)
        reasons = [text for text in (decision.reason, decision.instead) if text]
        reason = "; ".join(reasons)
        # The script named the object, but its name may come from the cluster: the note marks it as a value.
        described = described or _describe(self.request)
        self._refusal = described.within("", f": {reason}")
        return errors.PolicyDenied(str(self._refusal), code=rule)

    def fail(self, error: errors.KubescriptError) -> None:
        """Notes and records a call without an answer, unless already recorded."""
        if self._is_recorded:
            return
        if not self.is_parsed:
            method = self.request.method
            note = notes.Note(f"{error.code} {method}")
            self._note(self._summary.failed, note)
            record = records.Record(f"unparsed {method}", "refuse", fault=error.code)
            self._record(record)
            return
        self.note_failure(error.code)
        if error.remedy:
            about = {"event": "cluster.remedy", "context": self.cluster}
            log.warning("%s: %s", self.mask(error.message), error.remedy, extra=about)
        record = self._describe_end(fault=error.code)
        self._record(record)

    def note_answer(self, response: types.Response) -> None:
        """Notes the status and headers of an answer; the body comes later."""
        if response.status >= 400 and not _is_harmless(self.request, response):
            self.note_failure(response.status)
        if "warning" in response.headers:
            text = self.mask(response.headers["warning"])
            # Attack: webhooks and custom resources write warnings, which must not speak in kubescript's name.
            warning = notes.of([(text, False)])
            self._note(self._summary.warnings, warning)

    def note_part(self, what: str) -> None:
        """Notes, in kubescript's own words, that the answer of a source is only a part."""
        self._note(self._summary.parts, notes.Note(what))

    def note_failure(self, cause: str | int) -> None:
        """Notes that the call, or its watch, failed with this code or status."""
        note = self.what.within(f"{cause} ")
        self._note(self._summary.failed, note)

    def end(
        self,
        status: int,
        fault: str = "",
        size: int = 0,
        redacted: Mapping[str, int] = _NOTHING,
        trailer: masking.Trailer | None = None,
    ) -> None:
        """Records how the body ended; `trailer` describes it, if it was read to its end."""
        if fault not in {"", CLOSED}:
            self.note_failure(fault)
        for kind, count in redacted.items():
            self._summary.found(kind, count)
        if trailer is not None and status == 200:
            self._note_listing(trailer)
        record = self._describe_end(status=status, fault=fault, size=size, redacted=redacted)
        self._record(record)

    def _note_listing(self, trailer: masking.Trailer) -> None:
        """Notes the result of a read."""
        request = self.request
        # An API server answers a list in a nonexistent namespace like one in an empty namespace.
        if request.namespace and request.verb in _READS:
            is_empty = request.verb != "get" and not trailer.items
            self._summary.listed_namespaces.note(self.cluster, request.namespace, empty=is_empty)
        if request.verb == "list":
            what = self._locate(self.what)
            self._summary.pages.read(request, self.cluster, what, trailer)

    # Masking of a call's texts

    def mask(self, text: str) -> str:
        """Returns the text masked; withholds it if masking takes too long."""
        # An API server repeats the id that it was sent: masking it took a twentieth of the host's time of a small list.
        if text in _HARMLESS or text == self.request.audit_id:
            return text
        patience = cancellation.Patience(_MASKING_S, self.request.cancelled)
        try:
            return self._mask(text, self._summary.found, patience)[:_MAX_TEXT]
        except (errors.LimitExceeded, errors.RedactionError):
            return redaction.WITHHELD

    def mask_reply(self, reply: exchanges.Reply) -> exchanges.Reply:
        """Returns the reply with every text masked."""
        # The reason phrase, the headers and the error texts come from the API server, as bodies do.
        fault = reply.fault
        if fault is not None:
            fault = self._mask_fault(fault)
        headers = {name: self.mask(value) for name, value in reply.headers.items()}
        return msgspec.structs.replace(
            reply,
            reason=self.mask(reply.reason),
            content_type=self.mask(reply.content_type),
            headers=headers,
            fault=fault,
        )

    def _mask_fault(self, fault: protocol.ScriptFault) -> protocol.ScriptFault:
        """Returns the fault masked. The summary keeps a copy in kubescript's own words, to tell them from the
        cluster's."""
        message = self.mask(fault.message)
        ours = self._refusal
        # Faults with these codes quote nothing from the cluster, so their whole text is kubescript's.
        if fault.code in _PLAIN_CODES:
            ours = notes.Note(message)
        if ours is not None:
            self._summary.report_denial(fault.code, message, ours)
        return msgspec.structs.replace(fault, message=message)

    def _locate(self, note: notes.Note) -> notes.Note:
        """Returns the note, prefixed with the cluster's name when the server has several."""
        if not self.cluster:
            return note
        return note.of_cluster(self.cluster)

    def _note(self, noted: dict[notes.Note, int], note: notes.Note) -> None:
        """Counts a note of this call in one of the summary's lists."""
        located = self._locate(note)
        self._summary.note(noted, located)

    def _describe_end(
        self, *, status: int = 0, fault: str = "", size: int = 0, redacted: Mapping[str, int] = _NOTHING
    ) -> records.Record:
        """Returns the record of an allowed call that has ended."""
        return records.Record(
            request.describe(self.request),
            self.verdict,
            self.request.metadata_rule,
            status=status,
            fault=fault,
            ms=round((time.monotonic() - self._started) * 1000, 1),
            bytes=size,
            call=self.request,
            redacted=redacted,
        )

    def _record(self, record: records.Record) -> None:
        """Writes the record to the log and the journal. Raises AuditError."""
        self._is_recorded = True
        if self.cluster:
            record = replace(record, context=self.cluster)
        # The summary keeps the record even when the journal raises and does not.
        self._summary.add_record(record)
        self._log(record)
        self.operation.journal.record(record)


def _describe(call: request.Request) -> notes.Note:
    """Returns `request.describe`, with a placeholder for each name that is not Kubernetes' own."""
    if not call.is_resource:
        return notes.of([(f"{call.method} ", True), (call.path, False)])
    place = call.group, call.resource
    is_known = place in _METRICS or kinds.kind_of(*place) is not None
    parts = [(f"{call.verb} ", True), (call.resource, is_known)]
    if call.subresource:
        is_known_part = call.subresource in _SUBRESOURCES
        parts += [("/", True), (call.subresource, is_known_part)]
    if call.group:
        is_known_group = is_known or call.group in kinds.BUILT_IN
        parts += [(".", True), (call.group, is_known_group)]
    if call.name:
        parts += [(" ", True), (call.name, False)]
    if call.namespace and not kinds.is_namespace(call.group, call.resource):
        parts += [(IN_NAMESPACE, True), (call.namespace, False)]
    return notes.of(parts)


def _is_harmless(call: request.Request, response: types.Response) -> bool:
    """Says whether a script that swallows this error has missed nothing."""
    if call.method == "GET":  # a nonexistent object or document has nothing to show
        return is_absence(call, response)
    return response.status in _REFUSED_WRITE


def is_absence(call: request.Request, response: types.Response) -> bool:
    """Says whether an error means that the object or document of this request does not exist."""
    # Attack: a proxy returns its own 404 page for an object that may exist.
    if response.status != 404 or not response.content_type.startswith(("application/json", "text/plain")):
        return False
    if call.verb != "get":
        return False
    if call.is_resource:
        return bool(call.name)
    return not call.path.startswith(_NEVER_ABSENT)
