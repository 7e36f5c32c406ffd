"""The types of a guest without calls: a host and a script that has only the language say nothing to each other."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = ["BATCH", "Call", "Nothing", "Refusal"]


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What such a script is told at its start, and what is told of it at its end."""


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call, which no host answers."""

    stream: bool = False


BATCH: Final = protocol.Batch[Call]
"""Several of them."""


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer to it."""

    fault: protocol.ScriptFault | None = None


# Two threads that decode into a type for the first time at once can crash msgspec 0.22. It knows these from now on.
for _type in (Nothing, Call, BATCH, Refusal):
    msgspec.json.Decoder(_type)
