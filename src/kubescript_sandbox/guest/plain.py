"""A guest that gives scripts only the language and its library."""

from __future__ import annotations

import json
from typing import Final

from kubescript_sandbox.guest import channel
from kubescript_sandbox.guest.contract import Rehearsal
from kubescript_sandbox.library import builtins
from kubescript_sandbox.wire import plain, protocol

__all__ = ["GUEST"]


class _Session:
    """The world of one script."""

    def __init__(self, link: channel.Channel) -> None:
        self._globals = builtins.build_globals(print_=link.print, extra={}, importable={})

    def begin(self, start: protocol.Start) -> dict[str, object]:
        """Returns the names of the language."""
        return self._globals

    def complete(self) -> None:
        """Does nothing: no call is left."""

    def report(self) -> plain.Nothing:
        """Reports nothing."""
        return plain.Nothing()


class _Guest:
    """The guest without calls."""

    reply = plain.Refusal
    rehearsal = Rehearsal("6 * 7", plain.Nothing(), plain.Refusal(), b"42")

    def warm(self) -> None:
        """Does nothing: the language is loaded."""

    def open(self, link: channel.Channel) -> _Session:
        """Builds the global names of a script."""
        return _Session(link)

    def encode(self, value: object) -> bytes:
        """Returns a value as JSON text; a value without a JSON form becomes its repr."""
        return json.dumps(value, default=repr).encode()

    def explain(self, error: BaseException) -> None:
        """Explains no error."""


GUEST: Final = _Guest()
