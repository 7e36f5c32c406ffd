"""Which API servers took no connection a moment ago, so that the next call does not wait for them again.

A dead host costs a call the whole time for a connection; ten of them use up the time of a script over 200 clusters.
What one call has found out counts for half a minute and for all callers. Then it is asked again, by any of them.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final

__all__ = ["KNOWN", "Outages", "Place"]

Place = tuple[str, str, str]
"""A context with its kubeconfig, the URL of its API server, and that of the proxy before it."""
# Attack: a found cluster has the address of another one, and a TLS name or a client key with which the handshake never
# ends. So contexts share no place.
_HOLD_S: Final = 30.0
"""Seconds after a failed attempt in which none begins."""
_MOST: Final = 10_000
"""How many places are kept."""


class Outages:
    """The places, and when they may be asked again. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: OrderedDict[Place, float] = OrderedDict()
        """Place → time.monotonic, the earliest first."""

    def seconds_left(self, place: Place) -> float:
        """Returns the seconds until a place may be asked; 0 if it may be now."""
        # Attack: a call that may ask on behalf of all others ends before it connects, again and again. So when the time
        # is over, every call may ask.
        with self._lock:
            return max(0.0, self._until.get(place, 0.0) - time.monotonic())

    def begin(self, place: Place, since: float) -> None:
        """Notes that a place has taken no connection since a time (time.monotonic)."""
        with self._lock:
            if since < self._until.get(place, 0.0):
                return  # a call that began later has answered, or failed already
            self._until[place] = time.monotonic() + _HOLD_S
            self._until.move_to_end(place)
            if len(self._until) > _MOST:
                self._until.popitem(last=False)

    def end(self, place: Place) -> None:
        """Notes that a place has just answered."""
        with self._lock:
            if place in self._until:
                self._until[place] = time.monotonic()


KNOWN: Final = Outages()
"""Those that this process has met."""
