"""Defines the interface through which the SDK makes calls. The worker implements it over its socket, tests in
memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from kubescript.wire.exchanges import Call, Reply
from kubescript_sandbox.guest import channel

__all__ = ["Answer", "Exchange", "Transport"]


class Exchange(Protocol):
    """One call's answer."""

    @property
    def reply(self) -> Reply:
        """Returns the answer's head: its status and headers."""

    def chunks(self) -> Iterator[bytes]:
        """Yields the body in order, read on demand. Raises faults.ProtocolFault if the body breaks off."""

    def stop(self) -> None:
        """Stops the rest of the body."""


class Answer:
    """An answer that the SDK has made or changed."""

    def __init__(self, reply: Reply, body: Iterator[bytes], stop: Callable[[], None] = lambda: None) -> None:
        self.reply = reply
        self._body = body
        self.stop = stop

    def chunks(self) -> Iterator[bytes]:
        """Yields the body."""
        return self._body


class Transport(Protocol):
    """Makes calls. Answers arrive one after another, so reading a later one keeps the earlier ones in memory."""

    @property
    def left(self) -> channel.Left:
        """Returns what is left of the script's budget."""

    def call(self, call: Call) -> Exchange:
        """Sends a call and waits for the head of its answer."""

    def batch(self, calls: Sequence[Call]) -> Sequence[Exchange]:
        """Sends calls that are made at the same time."""
