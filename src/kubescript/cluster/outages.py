"""Which API servers took no connection a moment ago, so that the next call does not wait for them again.

A dead host costs a call the whole time for a connection; ten of them use up the time of a script over 200 clusters.
What one call has found out counts for half a minute and for all callers. Then one call asks anew, and the others are
refused until it knows.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

__all__ = ["KNOWN", "Outages", "Place"]

Place = tuple[str, str]
"""The URL of an API server, and that of the proxy before it: without the proxy, the server may well be there."""
_HOLD_S: Final = 30.0
"""Seconds after an attempt in which there is no other."""
_MOST: Final = 10_000
"""How many places are kept."""


class Outages:
    """The places, and when they may be asked again. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: OrderedDict[Place, float] = OrderedDict()
        """Place → time.monotonic, the earliest first."""

    def seconds_left(self, place: Place) -> float:
        """Returns the seconds until a place may be asked; 0 if it may be now, by one caller."""
        with self._lock:
            until = self._until.get(place)
            if until is None:
                return 0.0
            left = until - time.monotonic()
            if left <= 0:
                self._hold(place)
            return max(0.0, left)

    def begin(self, place: Place) -> None:
        """Notes that a place took no connection in the time for one."""
        with self._lock:
            self._hold(place)

    def end(self, place: Place) -> None:
        """Notes that a place takes connections."""
        with self._lock:
            self._until.pop(place, None)

    def _hold(self, place: Place) -> None:
        self._until[place] = time.monotonic() + _HOLD_S
        self._until.move_to_end(place)
        if len(self._until) > _MOST:
            self._until.popitem(last=False)


KNOWN: Final = Outages()
"""Those that this process has met."""
