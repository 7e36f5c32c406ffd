"""One script, as a client asked for it: its limits, its clock and its cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from kubescript import types
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation

__all__ = ["MASKING_S", "Report", "ScriptRequest"]

Report = Callable[[float, float | None, str], None]
"""A report of progress to the client, from any thread: done, total, text."""
MASKING_S: Final = 2.0
"""Seconds that masking an answer may always take: a script that used up its time also has prints to mask."""


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """The script and who asked for it."""

    script: str
    limits: runs.Limits
    caller: types.Caller
    on_progress: Report | None
    by_caller: bool = False
    """Whether the caller wrote the script, rather than one of our tools, which puts other strings into its scripts."""
    yields_cores: bool = False
    """Whether the scripts of other callers may compute first."""
    switch: cancellation.Cancellation = field(default_factory=cancellation.Cancellation)
    """Ends the worker and the running calls, on cancellation and when the script's time is over."""
    since: float = field(default_factory=time.monotonic)
    cancelled: threading.Event = field(default_factory=threading.Event)
    """Set when the client has cancelled."""

    @property
    def ms_ago(self) -> float:
        """Milliseconds since the client asked."""
        return (time.monotonic() - self.since) * 1000

    def patience(self, deadline: float) -> cancellation.Patience:
        """Returns how long the client waits for masked text: until `deadline`, but at least two seconds."""
        left = max(deadline - time.monotonic(), MASKING_S)
        return cancellation.Patience(left, self.cancelled.is_set)
