"""Recognizes placeholders in what a script wants to write."""

from __future__ import annotations

from typing import Final

from kubescript.wire import masking

__all__ = ["carried"]

_ESCAPED: Final = b"\\u00abredacted:"


def carried(body: bytes) -> bool:
    """Whether a request's body holds a placeholder, as such, escaped or in base64: what would be written is not the
    value."""
    return masking.OPENING in body or _ESCAPED in body.lower() or any(piece in body for piece in _IN_BASE64)


_IN_BASE64: Final = masking.alignments(masking.OPENING)
