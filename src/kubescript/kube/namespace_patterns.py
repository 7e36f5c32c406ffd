"""Patterns of namespaces' names, such as `team-a-*`: which namespaces a caller may see. The policy and the
masking process decide by them, and the SDK knows by them where it can list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

__all__ = ["PATTERN", "describe", "is_literal"]

# `wildcards` knows `?` and brackets too, which no name contains.
PATTERN: Final = r"[a-z0-9*]([-a-z0-9*]{0,61}[a-z0-9*])?"
"""The grammar of a pattern: that of a namespace's name, and `*`."""
_SHOWN: Final = 200
"""How many characters of the patterns a text shows."""


def is_literal(pattern: str) -> bool:
    """Says whether a pattern is the name of one namespace."""
    return "*" not in pattern


def describe(patterns: Sequence[str]) -> str:
    """Returns the patterns for a text, or as many as fit in one."""
    text = ", ".join(patterns)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
