"""One call in hand, from its arrival to its end, and what is noted and recorded on the way.

The broker makes one for each call that could be parsed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Final

from kubescript import cancellation, types
from kubescript.broker import body as answer_body
from kubescript.broker import ledgers, records, summary
from kubescript.request import request

__all__ = ["Case"]

_HARMLESS: Final = frozenset({400, 404, 405, 406, 409, 415, 422})
"""Answers about the request itself: a script that asks for what is not there has missed nothing."""


@dataclass(frozen=True, slots=True)
class Case:
    """A call that could be parsed, and what its handling needs to know."""

    call: request.Request
    ledger: ledgers.Ledger
    started: float
    """By `time.monotonic`."""
    cancel: cancellation.Cancellation

    @property
    def tally(self) -> summary.Summary:
        """Its script's."""
        return self.ledger.tally

    @property
    def left(self) -> float:
        """Seconds until an answer is of no use any more."""
        return max(0.001, self.call.deadline - time.monotonic())

    @property
    def kind(self) -> str:
        """What receipts count: the same failure for a hundred pods is one line."""
        call = replace(self.call, name="")
        return request.describe(call if call.resource != "namespaces" else replace(call, namespace=""))

    def note(self, notes: dict[str, int], what: str | int) -> None:
        """Count what became of calls of this kind."""
        self.ledger.note(notes, f"{what} {self.kind}")

    def ended(self, *, status: int = 0, fault: str = "", size: int = 0) -> records.Record:
        """It was allowed, and is over."""
        ms = round((time.monotonic() - self.started) * 1000, 1)
        what = request.describe(self.call)
        return records.Record(what, "allow", status=status, fault=fault, ms=ms, bytes=size, call=self.call)

    def head(self, response: types.Response) -> None:
        """Note what an answer tells before its body."""
        call, tally = self.call, self.tally
        if response.status >= 400 and not (response.status in _HARMLESS and call.verb != "list"):
            self.note(tally.failed, response.status)
        if call.subresource == "log" or call.resource == "events":
            tally.workload_text = True
        if "warning" in response.headers:
            self.ledger.note(tally.warnings, self.ledger.text(response.headers["warning"]))

    def end(self, status: int, body: answer_body.Body) -> None:
        """Its body has ended, whichever way. Raises AuditError when that cannot be kept."""
        if body.fault not in {"", answer_body.CLOSED}:
            self.note(self.tally.failed, body.fault)
        for kind, count in body.redacted.items():
            self.tally.note(self.tally.redacted, kind, count)
        if self.call.verb == "list" and self.call.namespace and status == 200:
            self.tally.absences.listed(self.ledger.context, self.call.namespace, empty=body.is_empty_list)
        done = self.ended(status=status, fault=body.fault, size=body.size)
        self.ledger.keep(replace(done, redacted=body.redacted))
