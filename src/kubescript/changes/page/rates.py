"""Limits on what one person or one address may do in a minute."""

from __future__ import annotations

import collections
import ipaddress
import time
from collections.abc import Callable
from typing import Final

from kubescript import errors

__all__ = ["Rate", "network"]

_MINUTE_S: Final = 60.0
_MOST_KEYS: Final = 10_000
"""How many persons or addresses are remembered."""
_NETWORK: Final = 64
"""How many bits of an IPv6 address count: one machine may have all addresses of its network."""


class Rate:
    """What was done in the last minute, by whom. Used by one event loop."""

    def __init__(self, most: int, message: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`most` is how often each may do it; `message` tells whoever has done it more often."""
        self._most = most
        self._message = message
        self._clock = clock
        self._done: collections.OrderedDict[str, collections.deque[float]] = collections.OrderedDict()

    def take(self, key: str) -> None:
        """Counts it once more. Raises Busy if this person or address has done it too often."""
        done = self._done.setdefault(key, collections.deque(maxlen=self._most))
        now = self._clock()
        if len(done) == self._most and now - done[0] < _MINUTE_S:
            raise errors.Busy(self._message, code="busy.rate")
        done.append(now)
        self._done.move_to_end(key)
        if len(self._done) > _MOST_KEYS:
            self._done.popitem(last=False)

    def give_back(self, key: str) -> None:
        """Takes back what was counted last."""
        done = self._done.get(key)
        if done:
            done.pop()


def network(address: str) -> str:
    """Returns the part of an IP address that identifies one machine's network; other text unchanged."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(ipaddress.ip_network((found, _NETWORK), strict=False))
