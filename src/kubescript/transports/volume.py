"""How many bytes a caller may send in a minute. `seats` has one for each caller."""

from __future__ import annotations

import collections
import time
from typing import Final

__all__ = ["Volume"]

_MINUTE_S: Final = 60.0
_REQUEST: Final = 64 << 10
"""Bytes of a large request. Attack: 1,200 requests of 2 MiB in a minute, which the limit on their number allows."""
_FEWEST: Final = 8 << 20


class Volume:
    """Counts the bytes of the last minute. One event loop uses it."""

    def __init__(self, requests_per_minute: int) -> None:
        self._most = max(_FEWEST, requests_per_minute * _REQUEST)
        self._sizes: collections.deque[tuple[float, int]] = collections.deque()
        self._total = 0

    def take(self, size: int) -> bool:
        """Counts more bytes; says whether they are within the limit."""
        now = time.monotonic()
        while self._sizes and now - self._sizes[0][0] >= _MINUTE_S:
            self._total -= self._sizes.popleft()[1]
        if self._total + size > self._most:
            return False
        self._sizes.append((now, size))
        self._total += size
        return True
