"""How many requests one person may send in a minute: to this server, or to all replicas together."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import anyio

from kubescript import errors
from kubescript.broker import rate

if TYPE_CHECKING:
    from kubescript.transports import peers

__all__ = ["Allowance"]

_SHARE: Final = 20
"""A replica takes a 20th of a person's minute at a time."""
# Attack: a person who has sent too many requests goes on, and each of them asks the database.
_AGAIN_S: Final = 5.0
"""Seconds for which a person with nothing left is refused without another look."""
_MINUTE_S: Final = 60.0


class Allowance:
    """One person's requests. Used by one event loop."""

    def __init__(self, person: str, most: int, shared: peers.Peers | None) -> None:
        """`most` is the limit in a minute."""
        self._person = person
        self._most = most
        self._peers = shared
        # Minutes of the database end at once for all: without this count, a person has two within a second.
        self._here = rate.Rate(most)
        self._left = 0
        self._until = 0.0
        """When what is left is lost, on the monotonic clock."""
        self._refused_until = 0.0
        self._taking = anyio.Lock()

    async def take(self) -> bool:
        """Counts a request; says whether it is within the limit. Waits for the database a second at most."""
        return await self._take_shared() and self._here.take("")

    async def _take_shared(self) -> bool:
        """Counts a request of all replicas, if there are several; says whether it is within the limit."""
        if self._peers is None or self._spend():
            return True
        # Only one request of a person asks; the others spend what it gets.
        async with self._taking:
            return self._spend() or await self._renew(self._peers)

    def _spend(self) -> bool:
        if not self._left or time.monotonic() >= self._until:
            return False
        self._left -= 1
        return True

    async def _renew(self, shared: peers.Peers) -> bool:
        """Takes the next share, and counts a request of it; says whether there is one."""
        now = time.monotonic()
        if now < self._refused_until:
            return False
        try:
            grant = await shared.take(self._person, max(1, self._most // _SHARE), self._most)
        except errors.PlanError:
            return self._renew_here(max(1, self._most // shared.count))
        if grant is None:
            self._refused_until = now + _AGAIN_S
            return False
        # At the end of a minute a share may be lost before it is here; the request that asked for it is within it.
        self._left, self._until = grant.count - 1, now + grant.left_s
        return True

    def _renew_here(self, part: int) -> bool:
        """Takes this replica's part of a minute, once in a minute, and counts a request of it; says whether there is
        one."""
        now = time.monotonic()
        # Attack: the minute was spent before the database went away.
        left = part - self._here.count("")
        if left <= 0:
            self._refused_until = now + _AGAIN_S
            return False
        self._left = left - 1
        self._until = self._refused_until = now + _MINUTE_S
        return True
