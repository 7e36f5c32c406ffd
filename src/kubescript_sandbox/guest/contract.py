"""What a guest is: the part of a worker that says what scripts see, how they call out and how their values are written.

The sandbox runs scripts of any guest. A fork server loads one by the name of its module, which has a `GUEST`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from kubescript_sandbox.guest import channel
from kubescript_sandbox.wire import protocol

__all__ = ["Guest", "Rehearsal", "Session"]


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A script whose frames a worker exchanges before the real one: what the first of each kind costs is paid then."""

    script: str
    parameters: msgspec.Struct
    call: msgspec.Struct
    reply: msgspec.Struct
    body: bytes


class Session(Protocol):
    """One script's world, made ahead of time in a spare worker."""

    def begin(self, start: protocol.Start) -> dict[str, object]:
        """Returns the global names of the script."""

    def complete(self) -> None:
        """Does what the script has begun and not waited for."""

    def report(self) -> msgspec.Struct:
        """Returns what the host is told besides, when the script has ended."""


class Guest(Protocol):
    """A program that runs scripts in a worker. Its fork server calls `warm` once, each worker `open`."""

    @property
    def reply(self) -> type[Any]:
        """What the head of an answer is decoded into, a msgspec Struct that is a `protocol.Reply`."""

    @property
    def rehearsal(self) -> Rehearsal:
        """The frames that are exchanged to warm up."""

    def warm(self) -> None:
        """Loads everything that scripts may use: after the lockdown no file can be opened."""

    def open(self, link: channel.Channel) -> Session:
        """Does all work that does not depend on the script."""

    def encode(self, value: object) -> bytes:
        """Returns a script's value as JSON text."""

    def explain(self, error: BaseException) -> protocol.Failure | None:
        """Returns what is said of an error that the guest explains by itself; None for any other."""
