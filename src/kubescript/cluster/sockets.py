"""How many connections to clusters are open in this process. `connections` counts them, `live` and `web` say who uses
which.

A script over 200 clusters leaves as many idle connections behind, and each caller has its own.
"""

from __future__ import annotations

import resource
import threading
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import urllib3

__all__ = ["OPEN", "Sockets"]

_MOST: Final = 512
_FILES: Final = 4
"""Of as many file descriptors that the process may have, one connection is opened: each has two."""


class Sockets:
    """The open connections of all clusters and callers. Safe for use from many threads."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        # Reentrant: the garbage collector may close a connection at any line.
        self._lock = threading.RLock()
        self._count = 0
        self._pools: OrderedDict[int, weakref.ref[urllib3.PoolManager]] = OrderedDict()
        """The pools with connections, the one used last at the end."""

    @property
    def count(self) -> int:
        """How many are open."""
        return self._count

    def use(self, pool: urllib3.PoolManager) -> None:
        """Notes that a call uses a pool now."""
        with self._lock:
            self._pools[id(pool)] = weakref.ref(pool)
            self._pools.move_to_end(id(pool))

    def add(self) -> None:
        """Counts a connection. If there are too many, closes idle ones, those of the pool used longest ago first."""
        with self._lock:
            self._count += 1
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = self._most if soft == resource.RLIM_INFINITY else min(self._most, soft // _FILES)
        while self._count > most and (oldest := self._take_oldest()):
            # Those that a call uses stay open, and are closed after it.
            pool = oldest()
            if pool is not None:
                pool.clear()

    def remove(self) -> None:
        """Counts a connection that is closed."""
        with self._lock:
            self._count -= 1

    def _take_oldest(self) -> weakref.ref[urllib3.PoolManager] | None:
        with self._lock:
            return self._pools.popitem(last=False)[1] if self._pools else None


OPEN: Final = Sockets()
"""Those of this process."""
