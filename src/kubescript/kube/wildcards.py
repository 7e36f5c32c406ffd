"""Patterns of names in settings, such as `team-a-*`."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

__all__ = ["matches"]


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Says whether a name matches one of the patterns; `*` stands for anything."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
