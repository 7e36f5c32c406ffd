"""The log of one call: notes for the answer, a line in the server's log, a record in the journal.

The broker makes one `CallLog` for each call it gets. Whatever it writes is masked first and names the cluster where
there are several. The last entry may be written by another thread: by whoever ends the body.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import msgspec

from kubescript import cancellation, errors, redaction, types
from kubescript.broker import records, summary
from kubescript.request import request
from kubescript.wire import protocol

__all__ = ["CLOSED", "CallLog", "Check", "Found", "Mask"]

log = logging.getLogger(__name__)

Found = Callable[[str], None]
"""Is told the kind of each value that was masked."""
Check = Callable[[], None]
"""Raises KubescriptError when nobody waits for a text any more."""
Mask = Callable[[str, Found, Check], str]
"""Masks secret values in a text that leaves, and tells the kind of each. Raises what the check raises."""

CLOSED: Final = "closed"
"""How a body ended whose reader stopped early: the reader's choice, nothing failed."""
_HARMLESS: Final = frozenset({400, 404, 405, 406, 409, 415, 422})
"""Statuses about the request itself: a script that asks for what is not there has missed nothing."""
_MASKING_S: Final = 1.0
"""Seconds that one header or error text may take; they are short, unless somebody made one to cost."""


class CallLog:
    """Notes, logs and records what becomes of one call."""

    def __init__(
        self, notes: summary.Summary, sink: Callable[[records.Record], None], mask: Mask, context: str = ""
    ) -> None:
        """`notes` is the summary of the call's script; `context` names the cluster where there are several."""
        self.summary = notes
        self.context = context
        self.call: request.Request | None = None
        """What was asked for; None until it is parsed."""
        self._sink = sink
        self._mask = mask
        self._started = time.monotonic()

    @property
    def kind(self) -> str:
        """The call without its name: the same failure for a hundred pods is one note."""
        if self.call is None:
            return ""
        unnamed = replace(self.call, name="")
        return request.describe(unnamed if unnamed.resource != "namespaces" else replace(unnamed, namespace=""))

    def located(self, text: str) -> str:
        """`text`, with the cluster's name where there are several."""
        return f"{self.context}: {text}" if self.context else text

    # What became of the call. Each of these raises AuditError when it cannot be put on record.

    def malformed(self, method: str, code: str) -> None:
        """The call could not be parsed."""
        self._note(self.summary.failed, f"{code} {method}")
        self._write(records.Record(f"unparsed {method}", "refuse", fault=code))

    def misdirected(self, method: str, code: str) -> None:
        """The call is for no cluster there is."""
        self._note(self.summary.denied, f"{method} ({code})")
        self._write(records.Record(f"unparsed {method}", "deny", code, fault=code))

    def denied(self, call: request.Request, verdict: str, rule: str) -> None:
        """The policy did not allow the call."""
        self._note(self.summary.denied, f"{self.kind} ({rule})")
        self._write(records.Record(request.describe(call), verdict, rule, fault=rule, call=call))

    def failed(self, error: errors.KubescriptError) -> None:
        """The call was allowed, and the cluster gave no answer."""
        self._note(self.summary.failed, f"{error.code} {self.kind}")
        if error.remedy:
            about = {"event": "cluster.remedy", "context": self.context}
            log.warning("%s: %s", self.text(error.message), error.remedy, extra=about)
        self._write(self._performed(fault=error.code))

    def answered(self, call: request.Request, response: types.Response) -> None:
        """The head of the answer is there, its body is not."""
        about_request = response.status in _HARMLESS and call.verb != "list"
        if response.status >= 400 and not about_request:
            self._note(self.summary.failed, f"{response.status} {self.kind}")
        if call.subresource == "log" or call.resource == "events":
            self.summary.workload_text = True
        if "warning" in response.headers:
            self._note(self.summary.warnings, self.text(response.headers["warning"]))

    def ended(self, status: int, fault: str, size: int, redacted: Mapping[str, int], *, empty: bool) -> None:
        """The body has ended, whichever way; `empty` says that it was a list without items."""
        if fault not in {"", CLOSED}:
            self._note(self.summary.failed, f"{fault} {self.kind}")
        for kind, count in redacted.items():
            self.summary.note(self.summary.redacted, kind, count)
        call = self.call
        if call is not None and call.verb == "list" and call.namespace and status == 200:
            self.summary.listed_namespaces.listed(self.context, call.namespace, empty=empty)
        record = self._performed(status=status, fault=fault, size=size)
        self._write(replace(record, redacted=redacted))

    # Masking of what the call says

    def text(self, text: str) -> str:
        """`text`, masked; one that takes too long is withheld."""
        if not text:
            return text
        try:
            return self._mask(text, self.summary.found, cancellation.Patience(_MASKING_S))
        except errors.LimitExceeded:
            return redaction.WITHHELD

    def masked(self, reply: protocol.Reply) -> protocol.Reply:
        """The reply, masked: an API server's reason phrase, headers and error texts are its words like its bodies."""
        fault = reply.fault
        if fault is not None:
            fault = msgspec.structs.replace(fault, message=self.text(fault.message))
            self.summary.report_denial(fault.code, fault.message)
        return msgspec.structs.replace(
            reply,
            reason=self.text(reply.reason),
            content_type=self.text(reply.content_type),
            headers={name: self.text(value) for name, value in reply.headers.items()},
            fault=fault,
        )

    def _note(self, notes: dict[str, int], text: str) -> None:
        self.summary.note(notes, self.located(text))

    def _performed(self, *, status: int = 0, fault: str = "", size: int = 0) -> records.Record:
        """The record of a call that was allowed and is over."""
        what = request.describe(self.call) if self.call is not None else ""
        ms = round((time.monotonic() - self._started) * 1000, 1)
        return records.Record(what, "allow", status=status, fault=fault, ms=ms, bytes=size, call=self.call)

    def _write(self, record: records.Record) -> None:
        """To the log and the journal. Raises AuditError."""
        record = replace(record, context=self.context)
        self.summary.add_record(record)
        self._sink(record)
        self.summary.journal.record(record)
