"""Exceptions with which a worker notifies its script that the host has ended something."""

from __future__ import annotations

from kubescript_sandbox.wire.protocol import ScriptFault

__all__ = ["LimitExceeded", "ProtocolFault"]


class LimitExceeded(Exception):
    """A budget of the script is used up; `code` says which, such as "limit.calls"."""

    def __init__(self, message: str = "", code: str = "limit") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class ProtocolFault(Exception):
    """A body broke off; the END frame carried this fault."""

    def __init__(self, fault: ScriptFault) -> None:
        super().__init__(fault.message)
        self.fault = fault
