"""Limits how many writes each caller or session may try in a minute. The writer asks it."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from typing import Final

__all__ = ["Rate", "Rates"]

_MINUTE_S: Final = 60.0
_MAX_OWNERS: Final = 10_000
"""How many of them are remembered. The one that has been idle longest is forgotten first."""
_MAX_RATES: Final = 10_000
"""How many clusters' counters are kept."""


class Rate:
    """A counter of the writes of each caller or session in the last minute. Safe for use from many threads."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, owner: str) -> bool:
        """Counts one more write; says whether it is within the limit."""
        now = time.monotonic()
        with self._lock:
            times = self._owners.setdefault(owner, deque(maxlen=self._per_minute))
            self._owners.move_to_end(owner)
            if len(self._owners) > _MAX_OWNERS:
                self._owners.popitem(last=False)
            is_full = len(times) == self._per_minute
            if is_full and now - times[0] < _MINUTE_S:
                return False
            times.append(now)
            return True

    def count(self, owner: str) -> int:
        """Returns how many writes were within the limit in the last minute."""
        now = time.monotonic()
        with self._lock:
            return sum(now - each < _MINUTE_S for each in self._owners.get(owner, ()))


class Rates:
    """The counters of all clusters. They outlive a cluster's connections and a caller's seat. Safe for use from many
    threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rates: dict[tuple[str, int], Rate] = {}

    def of(self, cluster: str, per_minute: int) -> Rate:
        """Returns the counter of a cluster, by its name, with this limit."""
        with self._lock:
            found = self._rates.setdefault((cluster, per_minute), Rate(per_minute))
            if len(self._rates) > _MAX_RATES:
                del self._rates[next(iter(self._rates))]
            return found
