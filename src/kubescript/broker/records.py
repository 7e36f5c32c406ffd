"""What is kept of a call: a record for the log and the audit, and the journal it goes to.

The broker writes both. A journal may refuse a call that it could not prove.
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
    """One call, for the log and the audit: parsed fields and sizes, never a body, a query value or a header."""

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
    """Kind of secret → how many values of it were masked in the answer."""
    context: str = ""
    """Which of several clusters; empty when the server has one."""
    at: float = field(default_factory=time.time)
    """When the call was over, in seconds since the epoch."""


class Journal(Protocol):
    """Puts the calls of one script on record. Called from the threads that answer them."""

    agent: str
    """Tells the script in the user agent of its requests."""

    def before(self, call: request.Request) -> None:
        """`call` is about to be sent. Raises AuditError when it must not be, since nobody could prove it."""

    def record(self, record: Record) -> None:
        """A call has ended. Raises AuditError when that cannot be kept."""


class _Nowhere:
    agent = ""

    def before(self, call: request.Request) -> None:
        pass

    def record(self, record: Record) -> None:
        pass


NOWHERE: Final[Journal] = _Nowhere()
"""Keeps nothing."""
