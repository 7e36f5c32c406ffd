"""A masker's account of what a write changes, read as hostile text: it may be wrong, but its size is bounded."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript.wire import inspection
from kubescript_sandbox.wire import outline, protocol

__all__ = ["read"]

# Made before any threads start: two that decode into a type for the first time at once can crash msgspec 0.22.
_CHANGES: Final = msgspec.json.Decoder(inspection.Changes)
_VALUES: Final = 8
"""Most JSON values in a row."""
_DIGITS: Final = frozenset("0123456789abcdef")
_DIGEST: Final = 64
"""Length of a SHA-256 in hexadecimal."""


def read(answer: bytes, *, has_before: bool, has_after: bool) -> inspection.Changes:
    """Returns the answer to a comparison of these documents. Raises ProtocolError for an invalid one."""
    # Attack: a masker sends eight megabytes of empty rows, which take a hundred times that memory when decoded.
    if len(answer) > inspection.MAX_CHANGES or outline.outline(answer, _VALUES * inspection.MAX_ROWS) is None:
        raise protocol.ProtocolError("more changes than there can be")
    try:
        changes = _CHANGES.decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise protocol.ProtocolError("changes that are malformed") from None
    is_about = (changes.before is not None) == has_before and (changes.after is not None) == has_after
    if not is_about or (changes.rows and not has_after):
        raise protocol.ProtocolError("changes of other documents")
    if len(changes.undo) > inspection.MAX_UNDO:
        raise protocol.ProtocolError("a longer way back than there can be")
    risks = tuple(risk for risk in inspection.RISKS if risk in changes.risks)
    digests = [each.digest for each in (changes, changes.before, changes.after) if each is not None]
    digests.append(changes.requested)
    if changes.risks != risks or len(changes.rows) > inspection.MAX_ROWS or not all(map(_is_digest, digests)):
        raise protocol.ProtocolError("changes that no comparison makes")
    return changes


def _is_digest(text: str) -> bool:
    """Says whether a text can be a SHA-256 in hexadecimal."""
    return len(text) == _DIGEST and _DIGITS.issuperset(text)
