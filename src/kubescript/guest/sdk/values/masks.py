"""Remembers whether a script was given a string with a mask, so that the answer can say so.

A comparison with such a string is false, and its length is that of the mask. Views and sessions report the strings that
they return. A worker runs only one script, so there is only one count.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from kubescript_masking.wire import masking

__all__ = ["MASK", "count", "forget_test", "has_given_masks", "note", "remember", "reset"]

MASK: Final = masking.OPENING.decode()
"""The beginning of every mask."""
_given: Final = [0]
"""How many masks the script was given."""

Text = TypeVar("Text", str, bytes)


def reset() -> None:
    """Begins to count for a script. A rehearsal has run before it in the same process or in the one that was copied."""
    _given[0] = 0


def remember() -> None:
    """Remembers that the script was given a mask."""
    _given[0] += 1


def note(text: Text) -> Text:
    """Returns a string for the script unchanged, and remembers a mask in it."""
    masked = MASK in text if isinstance(text, str) else masking.OPENING in text
    if masked:
        remember()
    return text


def count() -> int:
    """Returns how many masks the script was given."""
    return _given[0]


def forget_test(before: int, value: Any) -> Any:
    """Returns a value that the script only tests for presence. If it is a mask, which was counted after `before`, the
    count is taken back."""
    # The test's outcome is the same without the mask.
    if _given[0] > before and type(value) is str and MASK in value:
        _given[0] -= 1
    return value


def has_given_masks() -> bool:
    """Says whether the script was given a mask."""
    return _given[0] > 0
