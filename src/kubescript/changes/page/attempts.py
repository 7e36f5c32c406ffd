"""Limits on failed log-ins, by the address from which they come."""

from __future__ import annotations

import collections
import ipaddress
import time
from collections.abc import Callable
from typing import Final

from kubescript import errors

__all__ = ["Attempts"]

# Attack: a program types token after token. All people behind one proxy share an address, so the limit is no lower.
_MOST: Final = 30
"""How many log-ins may fail per minute at one address."""
_MINUTE_S: Final = 60.0
_MOST_ADDRESSES: Final = 10_000
_NETWORK: Final = 64
"""How many bits of an IPv6 address count: one machine may have all addresses of its network."""


class Attempts:
    """The failed log-ins of the last minute. Used by one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: collections.OrderedDict[str, collections.deque[float]] = collections.OrderedDict()

    def check(self, address: str) -> None:
        """Raises Busy if too many log-ins have failed at an address."""
        failed = self._failed.get(_network(address))
        if failed is not None and len(failed) == _MOST and self._clock() - failed[0] < _MINUTE_S:
            raise errors.Busy("too many log-ins have failed here; wait a minute", code="busy.rate")

    def fail(self, address: str) -> None:
        """Counts a failed log-in."""
        key = _network(address)
        failed = self._failed.setdefault(key, collections.deque(maxlen=_MOST))
        failed.append(self._clock())
        self._failed.move_to_end(key)
        if len(self._failed) > _MOST_ADDRESSES:
            self._failed.popitem(last=False)


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(ipaddress.ip_network((found, _NETWORK), strict=False))
