"""The types of a guest without calls: its host and its script have nothing to exchange."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = ["BATCH", "Call", "Nothing", "Refusal"]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Such a script's parameters at its start, and its report at its end."""


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call, which no host answers."""

    stream: bool = False


BATCH: Final = protocol.Batch[Call]
"""Several calls."""


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to a call."""

    fault: protocol.ScriptFault | None = None


# Registers these types early: msgspec 0.22 can crash when two threads decode into a type simultaneously for the first
# time.
for _type in (Nothing, Call, BATCH, Refusal):
    msgspec.json.Decoder(_type)
