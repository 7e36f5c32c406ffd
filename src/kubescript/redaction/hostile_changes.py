"""A masker's account of what a write changes, read as hostile text: it may be wrong, but its size is bounded."""

from __future__ import annotations

from typing import Final

import msgspec

from kubescript.wire import inspection
from kubescript_sandbox.wire import outline, protocol

__all__ = ["read"]

# Made before any threads start: two that decode into a type simultaneously for the first time can crash msgspec 0.22.
_CHANGES: Final = msgspec.json.Decoder(inspection.Changes)
_VALUES: Final = 10
"""How many JSON values a row may have."""
_DIGITS: Final = frozenset("0123456789abcdef")
_DIGEST: Final = 64
"""Length of a SHA-256 in hexadecimal."""


def read(answer: bytes, *, has_before: bool, has_after: bool) -> inspection.Changes:
    """Returns the answer to a comparison of these documents. Raises ProtocolError for an invalid answer."""
    # Attack: a masker sends eight megabytes of empty rows, which take a hundred times that memory when decoded.
    is_long = len(answer) > inspection.MAX_CHANGES
    if is_long or outline.outline(answer, _VALUES * inspection.MAX_ROWS) is None:
        raise protocol.ProtocolError("more changes than there can be")
    try:
        changes = _CHANGES.decode(answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise protocol.ProtocolError("changes that are malformed") from None
    if not _is_about(changes, has_before=has_before, has_after=has_after):
        raise protocol.ProtocolError("changes of other documents")
    if len(changes.undo) > inspection.MAX_UNDO:
        raise protocol.ProtocolError("a longer way back than there can be")
    if not _is_plausible(changes):
        raise protocol.ProtocolError("changes that no comparison makes")
    return changes


def _is_about(changes: inspection.Changes, *, has_before: bool, has_after: bool) -> bool:
    """Says whether these can be the changes between two documents, of which either may be missing."""
    if (changes.before is not None) != has_before:
        return False
    if (changes.after is not None) != has_after:
        return False
    return has_after or not changes.rows


def _is_plausible(changes: inspection.Changes) -> bool:
    """Says whether a comparison can have made these changes."""
    if len(changes.rows) > inspection.MAX_ROWS:
        return False
    if not all(map(_is_plausible_row, changes.rows)):
        return False
    # The host hands risks and digests on to rules and reviewers, so it takes only what it knows: each risk once, in its
    # place.
    risks = tuple(risk for risk in inspection.RISKS if risk in changes.risks)
    if changes.risks != risks:
        return False
    described = (changes, changes.before, changes.after)
    digests = [each.digest for each in described if each is not None]
    digests.append(changes.requested)
    return all(map(_is_digest, digests))


def _is_plausible_row(row: inspection.Row) -> bool:
    """Says whether a row's account of what masks hide can be true."""
    # Attack: a masker that was taken over hides less than nothing, which makes up for what another row hides.
    if min(row.hidden_bytes, row.hidden_lines) < 0:
        return False
    return row.brought is None or (row.brought >= 0 and row.hidden_lines > 0)


def _is_digest(text: str) -> bool:
    """Says whether a string can be a SHA-256 in hexadecimal."""
    return len(text) == _DIGEST and _DIGITS.issuperset(text)
