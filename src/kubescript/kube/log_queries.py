"""What a query in LogQL asks for; host and guest tell it in the same way."""

from __future__ import annotations

__all__ = ["asks_for_lines"]


def asks_for_lines(query: str) -> bool:
    """Says whether LogQL asks for lines, and not for a metric of them."""
    return query.lstrip("( \t\n").startswith("{")
