"""The limit on scripts that run at the same time: a fixed number of places, and a bounded queue of each caller before
them. The evaluators of all callers share one.

Among several callers places are given in turn, and by dynamic thresholds (Choudhury and Hahne, 1998): a caller that has
as many as are free waits. So one caller takes half of the places at most, and another one finds some free. The queues
of all callers have a total, which is shared by the same rule.

A caller is a proven name. Attack: ever other tokens, sessions or addresses that are not checked, each with a
queue and a turn of its own. All callers without a proven name share one queue.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import anyio

from kubescript import errors

__all__ = ["Concurrency", "Places"]

_SETTING: Final = "sandbox.max_scripts"
_QUEUES: Final = 8
"""Full queues that the total has room for. A script that waits holds up to 2 MiB of its request."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """One script in the queue."""

    ready: anyio.Event = field(default_factory=anyio.Event)
    refused: bool = False
    """Whether the server ends before it was this one's turn."""


class Concurrency:
    """The places of one server and the scripts that wait for one. One event loop uses it."""

    def __init__(
        self, places: int, queue: int, *, shared: bool = False, what: str = "scripts", setting: str = _SETTING
    ) -> None:
        """`queue` is how many scripts of one caller may wait; `shared` says that there are several callers. `what` they
        are, and the `setting` with their number, is for messages."""
        self._places = places
        self._queue = queue
        self._shared = shared
        self._running: collections.Counter[str] = collections.Counter()
        self._waiting: dict[str, collections.deque[_Waiter]] = {}
        """By callers, the one first whose turn it is."""
        self._closed = False
        self._what = what
        self._setting = setting

    @property
    def running(self) -> int:
        """Places that are taken."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Scripts that wait for a place."""
        return sum(map(len, self._waiting.values()))

    @contextlib.asynccontextmanager
    async def place(self, caller: str = "") -> AsyncIterator[None]:
        """Holds a place among the running scripts. Waits for it, or raises Busy at once when the queue is full."""
        if self._closed:
            raise _ending()
        if caller in self._waiting or not self._may_run(caller):
            await self._turn(caller)
        else:
            self._running[caller] += 1
        try:
            yield
        finally:
            self._leave(caller)

    def close(self) -> None:
        """Refuses what waits, and what comes from now on. What is running goes on."""
        self._closed = True
        for waiter in itertools.chain.from_iterable(self._waiting.values()):
            waiter.refused = True
            waiter.ready.set()
        self._waiting.clear()

    async def _turn(self, caller: str) -> None:
        """Waits until a place is the caller's. Raises Busy."""
        self._check_queue(caller)
        waiter = _Waiter()
        self._waiting.setdefault(caller, collections.deque()).append(waiter)
        try:
            await waiter.ready.wait()
        except BaseException:
            if not waiter.ready.is_set():
                self._forget(caller, waiter)
            elif not waiter.refused:  # cancelled with a place already given
                self._leave(caller)
            raise
        if waiter.refused:
            raise _ending()

    def _check_queue(self, caller: str) -> None:
        """Raises Busy when no more of this caller's may wait."""
        own = len(self._waiting.get(caller, ()))
        if own < self._queue and (not self._shared or own < _QUEUES * self._queue - self.waiting):
            return
        raise errors.Busy(
            f"{self._running[caller]} of your {self._what} are running and {own} wait; try again in a few seconds",
            remedy=f"raise {self._setting} or sandbox.max_queue, or run more replicas",
        )

    def _may_run(self, caller: str) -> bool:
        free = self._places - self.running
        return free > 0 and (not self._shared or self._running[caller] < free)

    def _leave(self, caller: str) -> None:
        """Frees a place, and gives what is free to those whose turn it is."""
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        while (following := self._next()) is not None:
            queue = self._waiting.pop(following)
            self._running[following] += 1
            queue.popleft().ready.set()
            if queue:
                self._waiting[following] = queue  # at the end: the others come first

    def _next(self) -> str | None:
        """Returns the caller whose turn it is."""
        return next(filter(self._may_run, self._waiting), None)

    def _forget(self, caller: str, waiter: _Waiter) -> None:
        queue = self._waiting[caller]
        queue.remove(waiter)
        if not queue:
            del self._waiting[caller]


def _ending() -> errors.Busy:
    return errors.Busy("the server is about to end; try again in a few seconds", code="busy.ending")


class Places:
    """What the scripts of one server share."""

    def __init__(
        self, scripts: int, queue: int, *, shared: bool = False, what: str = "scripts", setting: str = _SETTING
    ) -> None:
        """See `Concurrency`."""
        self.scripts = Concurrency(scripts, queue, shared=shared, what=what, setting=setting)
        self.waits = Concurrency(max(1, scripts // 2), queue, shared=shared)
        """What waits for a cluster may take half an hour, and leaves at least half of the places to all others."""
        self.threads = anyio.CapacityLimiter(scripts)
        """Threads have a limit of their own, because the thread of a cancelled script outlives its place."""

    def close(self) -> None:
        """Refuses what waits, and what comes from now on."""
        self.scripts.close()
        self.waits.close()
