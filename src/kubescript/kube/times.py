"""Times as Kubernetes writes them: RFC 3339 text."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["parse"]


def parse(text: str) -> datetime | None:
    """Returns the moment, in UTC where the string has no zone; None when it is invalid."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
