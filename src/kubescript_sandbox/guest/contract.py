"""The interface of a guest: the part of a worker that defines the scripts' world, their calls and how values are
written.

The sandbox runs scripts of any guest. A fork server loads a guest by the name of its module, which defines `GUEST`.
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
    """A script of one call, with the host's frames for it: the fork server runs it to pay first-use costs in
    advance."""

    script: str
    parameters: msgspec.Struct
    reply: msgspec.Struct
    body: bytes


class Session(Protocol):
    """One script's world, made in the fork server: a worker's script gets a copy by the fork."""

    def begin(self, start: protocol.Start) -> dict[str, object]:
        """Returns the script's global names. Rehearsals call it many times, in processes of which scripts get copies:
        what it counts outside the session must begin anew."""

    def complete(self) -> None:
        """Finishes what the script has begun but not waited for."""

    def report(self) -> msgspec.Struct:
        """Returns the guest's report to the host, when the script has ended."""


class Guest(Protocol):
    """A program that runs scripts in a worker. Its fork server calls `warm` once, then `open` for each rehearsal and
    for the script."""

    @property
    def reply(self) -> type[Any]:
        """The type of an answer's head, a msgspec Struct that is a `protocol.Reply`."""

    @property
    def rehearsal(self) -> Rehearsal:
        """What runs for the warm-up."""

    def warm(self) -> None:
        """Loads everything that scripts may use: after the lockdown no file can be opened. Must start no thread; hooks
        that modules register for forks do not run (confinement/fork_hooks.py)."""

    def open(self, link: channel.Channel) -> Session:
        """Does all work that does not depend on the script. `link` is not connected yet."""

    def encode(self, value: object) -> bytes:
        """Returns a script's value as JSON text."""

    def explain(self, error: BaseException) -> protocol.Failure | None:
        """Returns the guest's own explanation of an error; None when it has none."""
