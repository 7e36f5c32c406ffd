"""The limits on a script's calls: their number, and the number of open streams. `replies` checks them before each call;
bytes are counted where they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubescript_sandbox import errors, runs
from kubescript_sandbox.wire import protocol

__all__ = ["CallLimits"]

# A script may catch the error for exceeding its limit on calls. A script that then makes this many more calls is ended.
_CALLS_BEYOND_LIMIT: Final = 100
# How many streams may be open at the same time. Each holds a connection.
_MAX_STREAMS: Final = 8


class CallLimits:
    """Counts calls against a script's limits, and keeps the messages about them that the script got."""

    def __init__(self, limits: runs.Limits, on_refused: Callable[[str], None]) -> None:
        """`on_refused` is called with the code of the limit that prevents a call."""
        self._most = limits.api_calls
        self._on_refused = on_refused
        self.calls = 0
        self.messages: dict[str, str] = {}
        """The messages about limits that the script got, each with the limit's code."""

    def count(self, call: protocol.Call, open_streams: int) -> protocol.ScriptFault | None:
        """Counts a call; returns why it is refused, or None. Raises LimitExceeded far beyond the limit."""
        self.calls += 1
        message = f"more than {self._most} API calls; list once and filter in the script instead of one call per object"
        if self.calls > self._most + _CALLS_BEYOND_LIMIT:
            raise errors.LimitExceeded(message, code="limit.calls")
        if self.calls > self._most:
            return self.refuse("limit.calls", message)
        if call.stream and open_streams >= _MAX_STREAMS:
            return self.refuse("limit.watches", f"more than {_MAX_STREAMS} watches are open; end one with stop()")
        return None

    def refuse(self, code: str, message: str) -> protocol.ScriptFault:
        """Returns the fault of a refused call; reports its code and keeps its message."""
        self._on_refused(code)
        self.messages[message] = code
        return protocol.ScriptFault(code, message)

    def keep(self, fault: protocol.ScriptFault | None) -> None:
        """Keeps a fault's message if it is about a limit: its text is the host's own."""
        if fault is not None and fault.code.startswith("limit."):
            self.messages[fault.message] = fault.code
