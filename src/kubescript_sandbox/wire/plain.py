"""The types of a guest without calls: a host and a script that has only the language say nothing to each other."""

from __future__ import annotations

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = ["Call", "Nothing", "Refusal"]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What such a script is told at its start, and what is told of it at its end."""


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call, which no host answers."""

    stream: bool = False


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to it."""

    fault: protocol.ScriptFault | None = None
