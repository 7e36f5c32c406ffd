"""What is kept of one script's calls to one cluster: notes in its tally, a line in the log, a record in its journal.

The broker opens one for each call. Whatever is kept is masked first, and names the cluster where there are several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from kubescript import cancellation, errors
from kubescript.broker import body, records, summary
from kubescript.wire import protocol

__all__ = ["Ledger"]

_MASKING_S: Final = 1.0
"""Seconds that one header or error text may take; they are short, unless somebody made one to cost."""
_WITHHELD: Final = "(withheld: it could not be masked in time)"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The books of one call. The last line in them may be written by another thread: whoever ends the body."""

    tally: summary.Summary
    sink: Callable[[records.Record], None]
    mask: body.Mask
    context: str = ""
    """The cluster's name, where there are several."""

    def told(self, text: str) -> str:
        """`text`, with the cluster's name."""
        return f"{self.context}: {text}" if self.context else text

    def note(self, notes: dict[str, int], text: str) -> None:
        """Count `text` among the tally's `notes`."""
        self.tally.note(notes, self.told(text))

    def keep(self, record: records.Record) -> None:
        """To the log, and on record. Raises AuditError."""
        record = replace(record, context=self.context)
        self.tally.keep(record)
        self.sink(record)
        self.tally.journal.record(record)

    def text(self, text: str) -> str:
        """`text`, masked; one that takes too long is withheld."""
        if not text:
            return text
        try:
            return self.mask(text, self.tally.found, cancellation.Patience.of(_MASKING_S))
        except errors.LimitExceeded:
            return _WITHHELD

    def masked(self, reply: protocol.Reply) -> protocol.Reply:
        """The reply, masked: an API server's reason phrase, headers and error texts are its words as much as its bodies
        are."""
        wrong = reply.fault
        if wrong is not None:
            wrong = msgspec.structs.replace(wrong, message=self.text(wrong.message))
            self.tally.tell(wrong.code, wrong.message)
        return msgspec.structs.replace(
            reply,
            reason=self.text(reply.reason),
            content_type=self.text(reply.content_type),
            headers={name: self.text(value) for name, value in reply.headers.items()},
            fault=wrong,
        )
