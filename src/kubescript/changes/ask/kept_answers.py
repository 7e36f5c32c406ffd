"""A script's answer as the store keeps it while a person decides: the script does not run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubescript import types

__all__ = ["read", "write"]


class _Kept(msgspec.Struct, frozen=True):
    text: str
    is_error: bool
    code: str
    cut: bool
    untrusted: bool
    structured: Mapping[str, Any] | None
    meta: Mapping[str, Any] | None
    refused: tuple[str, ...]


# The decoder is made before any threads start: two threads that decode into a type simultaneously for the first time
# can crash msgspec 0.22.
_KEPT: Final = msgspec.json.Decoder(_Kept)
_FIELDS: Final = _Kept.__struct_fields__


def write(answer: types.Answer) -> bytes:
    """Returns an answer as JSON, without its plan and its use of resources."""
    values = {name: getattr(answer, name) for name in _FIELDS}
    return msgspec.json.encode(_Kept(**values))


def read(kept: bytes, plan_id: str) -> types.Answer:
    """Returns the answer of a plan's script; an empty one if it was not kept."""
    if not kept:
        return types.Answer("", plan=plan_id)
    return types.Answer(plan=plan_id, **msgspec.structs.asdict(_KEPT.decode(kept)))
