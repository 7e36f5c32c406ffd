"""Durations as Prometheus and Loki write them: `90s`, `1h30m`."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["parse"]

_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|[smhdwy])")
_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}
"""In seconds."""


def parse(text: str) -> float | None:
    """Returns a duration in seconds; None for any other text. Takes time that grows with the text's length."""
    seconds, end = 0.0, 0
    for part in _PART.finditer(text):
        if part.start() != end:
            return None
        seconds += float(part[1]) * _UNITS[part[2]]
        end = part.end()
    return seconds if end and end == len(text) else None
