"""Recognizes placeholders in what a script wants to write."""

from __future__ import annotations

import base64
from typing import Final

from kubescript.wire import masking

__all__ = ["carried"]

_ESCAPED: Final = b"\\u00abredacted:"


def carried(body: bytes) -> bool:
    """Whether a request's body holds a placeholder, as such, escaped or in base64: what would be written is not the
    value."""
    return masking.OPENING in body or _ESCAPED in body.lower() or any(piece in body for piece in _IN_BASE64)


def _alignments(text: bytes) -> tuple[bytes, ...]:
    """What of `text` shows in base64, wherever in a longer text it stands."""
    pieces = []
    for before in range(3):
        whole = base64.b64encode(bytes(before) + text)
        pieces.append(whole[(before * 8 + 5) // 6 : (before + len(text)) * 8 // 6])
    return tuple(pieces)


_IN_BASE64: Final = _alignments(masking.OPENING)
