"""The limits on what is kept for one person: how many rows, and how many bytes in all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["list_beyond"]


def list_beyond(sizes: Iterable[Any], most: int, most_bytes: int) -> list[str]:
    """Returns the ids of the rows beyond these limits, given ids and sizes with the newest row first."""
    beyond = []
    total = 0
    for number, (row_id, size) in enumerate(sizes):
        total += size
        if number >= most or total > most_bytes:
            beyond.append(row_id)
    return beyond
