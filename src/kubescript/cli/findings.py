"""A finding of `kubescript doctor` about a server over http."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Finding"]


class Finding(NamedTuple):
    """One finding."""

    mark: Literal["ok", "WARNING", "FAILED"]
    """FAILED: the server does not start, or refuses callers."""
    topic: str
    text: str
