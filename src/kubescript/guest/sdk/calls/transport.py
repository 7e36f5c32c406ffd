"""Owns the interface that the SDK makes calls through. The worker implements it over its socket, tests in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from kubescript.wire.exchanges import Call, Reply
from kubescript_sandbox.guest import channel

__all__ = ["Exchange", "Transport"]


class Exchange(Protocol):
    """One call's answer."""

    @property
    def reply(self) -> Reply:
        """Returns the head of the answer."""

    def chunks(self) -> Iterator[bytes]:
        """Yields the body in order, read on demand. Raises faults.ProtocolFault when it breaks off."""

    def stop(self) -> None:
        """Stops the rest of the body."""


class Transport(Protocol):
    """Makes calls. Answers come one after the other, so reading a later one keeps the earlier ones in memory."""

    @property
    def left(self) -> channel.Left:
        """Returns what the script may still use."""

    def call(self, call: Call) -> Exchange:
        """Sends a call and waits for the head of its answer."""

    def batch(self, calls: Sequence[Call]) -> Sequence[Exchange]:
        """Sends calls that are made at the same time."""
