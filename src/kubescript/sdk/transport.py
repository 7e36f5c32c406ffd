"""What the SDK needs from the worker: a way to make one call. The worker implements it over the socket, tests in
memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from kubescript.sandbox.protocol import Call, Reply, ScriptFault

__all__ = ["Exchange", "ProtocolFault", "Transport"]


class ProtocolFault(Exception):
    """A body broke off: END carried this fault."""

    def __init__(self, fault: ScriptFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class Exchange(Protocol):
    """One call's answer."""

    @property
    def reply(self) -> Reply:
        """The head."""

    def chunks(self) -> Iterator[bytes]:
        """The body in order, read when asked for. Raises ProtocolFault when it breaks off."""


class Transport(Protocol):
    """Makes calls, one at a time: the SDK has read an exchange to its end before it makes the next call."""

    def call(self, call: Call) -> Exchange:
        """Send a call and wait for the head of its answer."""
