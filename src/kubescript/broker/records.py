"""The record of a call, for the log and the audit, and the interface of the journal that keeps it.

The broker writes each record to the log and to the journal. A journal may refuse a call that it cannot record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from kubescript.request import request

__all__ = ["NOWHERE", "Journal", "Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """One call, for the log and the audit. Contains parsed fields and sizes, never a body, a query value or a
    header."""

    what: str
    verdict: str
    rule: str = ""
    status: int = 0
    fault: str = ""
    ms: float = 0.0
    bytes: int = 0
    call: request.Request | None = None
    """None when the call could not be parsed."""
    redacted: Mapping[str, int] = field(default_factory=dict)
    """Kind of secret → number of its values masked in the answer."""
    context: str = ""
    """The cluster's name when the server has several; otherwise empty."""
    at: float = field(default_factory=time.time)
    """End of the call, in seconds since the epoch."""


class Journal(Protocol):
    """The record of one script's calls. Safe for use from the threads that answer them."""

    agent: str
    """The script's name in the user agent of its requests."""

    def before(self, call: request.Request, context: str) -> None:
        """Called before `call` is sent; `context` is as in `Record`. Raises AuditError when the call cannot be
        recorded and must not be sent."""

    def record(self, record: Record) -> None:
        """Records a call that has ended. Raises AuditError when the record cannot be kept."""


class _Nowhere:
    agent = ""

    def before(self, call: request.Request, context: str) -> None:
        pass

    def record(self, record: Record) -> None:
        pass


NOWHERE: Final[Journal] = _Nowhere()
"""A journal that keeps nothing."""
