"""Remembers whether a script was given a text that holds a mask, so that its answer can say so.

A comparison with such a text is false, and its length is the mask's. Views and sessions report what they hand out. A
worker runs one script, so there is one memory.
"""

from __future__ import annotations

from typing import Final, TypeVar

from kubescript.wire import masking

__all__ = ["MASK", "handed_out", "noted", "remember"]

MASK: Final = masking.OPENING.decode()
"""How every mask begins."""
_given: Final[list[bool]] = []

Text = TypeVar("Text", str, bytes)


def remember() -> None:
    """Remembers that the script was given a mask."""
    if not _given:
        _given.append(True)


def noted(text: Text) -> Text:
    """Returns a text that the script gets, and remembers a mask in it."""
    if MASK in text if isinstance(text, str) else masking.OPENING in text:
        remember()
    return text


def handed_out() -> bool:
    """Whether the script was given a mask."""
    return bool(_given)
