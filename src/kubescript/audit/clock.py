"""Time as records have it."""

from __future__ import annotations

import datetime

__all__ = ["now"]


def now() -> str:
    """RFC 3339, UTC, milliseconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
