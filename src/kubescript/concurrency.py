"""The limit on scripts that run at the same time: a fixed number of places, and a bounded queue before them. The
evaluator uses it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import anyio

from kubescript import errors

__all__ = ["Concurrency"]


class Concurrency:
    """The places of one server and the number of scripts that wait for one. One event loop uses it."""

    def __init__(self, places: int, queue: int) -> None:
        self._places = anyio.CapacityLimiter(places)
        self._queue = queue
        self.waiting = 0

    @property
    def running(self) -> int:
        """Places that are taken."""
        return int(self._places.borrowed_tokens)

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Holds a place among the running scripts. Waits for it, or raises Busy at once when the queue is full."""
        self._refuse_when_full()
        holder = object()
        self.waiting += 1
        try:
            await self._places.acquire_on_behalf_of(holder)
        finally:
            self.waiting -= 1
        try:
            yield
        finally:
            self._places.release_on_behalf_of(holder)

    def _refuse_when_full(self) -> None:
        if self._places.available_tokens < 1 and self.waiting >= self._queue:
            raise errors.Busy(
                f"{self._places.total_tokens:g} scripts are running and {self._queue} wait; try again in a few seconds",
                remedy="raise sandbox.max_scripts or sandbox.max_queue, or run more replicas",
            )
