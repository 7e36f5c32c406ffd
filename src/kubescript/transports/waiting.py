"""The connections that wait for their clients, and the bytes of their requests that are held: those that have waited
longest, or hold the most, are closed first. `http_connections` and `handshake` report when one waits.
"""

from __future__ import annotations

import collections
import logging
import time
from typing import Final, Protocol

__all__ = ["Waiting", "Waits"]

log = logging.getLogger(__name__)

# Attack: clients send hundreds of large bodies without their last byte.
_HELD_BYTES: Final = 32 << 20
"""How many bytes of incomplete requests all connections together may hold."""
# The clients control how many connections are closed.
_LOG_EVERY_S: Final = 60.0
"""Seconds between two log lines about closed connections."""


class Waits(Protocol):
    """A connection that may wait for its client, or its TLS handshake."""

    @property
    def owner(self) -> str:
        """The authenticated sender of a request; empty for a stranger."""

    def end(self) -> None:
        """Ends the connection at once."""


class Waiting:
    """The connections that wait for their clients, the longest waiting first."""

    def __init__(self, most: int, wait_s: float) -> None:
        self.wait_s = wait_s
        self._most = most
        self._open: set[Waits] = set()
        self._waiting: dict[Waits, int] = {}
        """Waiting connections, each with the received bytes of its request."""
        self._held = 0
        self._logged = -_LOG_EVERY_S

    def __contains__(self, connection: Waits) -> bool:
        return connection in self._waiting

    def open(self, connection: Waits) -> None:
        """Counts a new connection."""
        self._open.add(connection)

    def add(self, connection: Waits) -> None:
        """Notes that a connection waits from now on; closes others when there are too many."""
        self._waiting[connection] = 0
        self._make_room()

    def hold(self, connection: Waits, size: int) -> None:
        """Counts bytes of an incomplete request; closes connections when there are too many bytes."""
        self._waiting[connection] += size
        self._held += size
        while self._held > _HELD_BYTES:
            self._end(self._find_largest())

    def release(self, connection: Waits) -> None:
        """Stops counting the bytes of a request: it is being answered, and the rest of its bytes are not kept."""
        if connection in self._waiting:
            self._held -= self._waiting[connection]
            self._waiting[connection] = 0

    def remove(self, connection: Waits) -> None:
        """Notes that a connection no longer waits."""
        self._held -= self._waiting.pop(connection, 0)

    def close(self, connection: Waits) -> None:
        """Forgets a connection that has ended."""
        self.remove(connection)
        self._open.discard(connection)

    def _make_room(self) -> None:
        while self._waiting and len(self._open) > self._most:
            longest_waiting = next(iter(self._waiting))
            self._end(longest_waiting)

    def _find_largest(self) -> Waits:
        """Returns the connection that holds the most, among those of the owner who holds the most in total. All
        strangers count as one owner."""
        # Attack: strangers send endless bodies, which would make a caller's slow body the oldest one.
        totals = collections.Counter[str]()
        for connection, size in self._waiting.items():
            totals[connection.owner] += size
        owner = max(totals, key=totals.__getitem__)
        own = (connection for connection in self._waiting if connection.owner == owner)
        return max(own, key=self._waiting.__getitem__)

    def _end(self, connection: Waits) -> None:
        self.close(connection)
        connection.end()
        self._log_full()

    def _log_full(self) -> None:
        if time.monotonic() < self._logged + _LOG_EVERY_S:
            return
        self._logged = time.monotonic()
        log.warning(
            "more than %d HTTP connections are waiting for their clients: the longest waiting ones are closed",
            self._most,
            extra={"event": "http.full"},
        )
