"""What the SDK needs from the worker: a way to make calls. The worker implements it over the socket, tests in
memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kubescript.wire.protocol import Call, Reply, ScriptFault
from kubescript.worker.sdk import context

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

    def stop(self) -> None:
        """Do without the rest of the body."""


class Transport(Protocol):
    """Makes calls. Answers come one after the other: whoever asks for a later one has the earlier ones kept."""

    quiet: bool
    """While true, nothing that a script prints is kept."""

    @property
    def left(self) -> context.Left:
        """What the script may still use."""

    def call(self, call: Call) -> Exchange:
        """Send a call and wait for the head of its answer."""

    def batch(self, calls: Sequence[Call]) -> Sequence[Exchange]:
        """Send calls that are made at the same time."""
