"""Suggests the name that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns a suggestion for the end of an error message; empty when no known name is similar."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if not close:
        return ""
    return f"; did you mean `{close[0]}`?"
