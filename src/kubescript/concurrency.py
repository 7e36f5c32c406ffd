"""The limit on scripts that run at the same time: a fixed number of places, and a bounded queue per caller. The
evaluators of all callers share it. Questions about callers' tokens are limited by the same rules (`auth.opaque`).

Callers get places in turn, subject to dynamic thresholds (Choudhury and Hahne, 1998): a caller that has as many places
as are free waits. One caller therefore gets at most half of the places, and another always finds some free. The total
of all queues is shared by the same rule.

A caller is an authenticated name. Attack: a client keeps sending new tokens, sessions or addresses that are not
checked, to get another queue and turn with each. All callers without an authenticated name share one queue.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

import anyio

from kubescript import errors, rounds

__all__ = ["Concurrency", "Places"]

_SETTING: Final = "sandbox.max_scripts"
_QUEUES: Final = 8
"""How many full queues fit into the total. A waiting script holds up to 2 MiB of its request."""


@dataclass(eq=False, slots=True)
class _Waiter:
    """One script in the queue."""

    ready: anyio.Event = field(default_factory=anyio.Event)
    refused: bool = False
    """Whether the server is ending before this script's turn has come."""


class Concurrency:
    """The places of one server and the scripts that wait for them. Used by one event loop."""

    def __init__(
        self, places: int, queue: int, *, shared: bool = False, what: str = "scripts", setting: str = _SETTING
    ) -> None:
        """`queue` is how many scripts of one caller may wait; `shared` means that there are several callers. `what`
        names the scripts, and `setting` the setting with their number, if there is one, in messages."""
        self._places = places
        self._queue = queue
        self._shared = shared
        self._running: collections.Counter[str] = collections.Counter()
        self._waiting: rounds.Rounds[_Waiter] = rounds.Rounds()
        self._closed = False
        self._what = what
        self._setting = setting

    @property
    def running(self) -> int:
        """The number of places that are taken."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """The number of scripts that wait for a place."""
        return len(self._waiting)

    @contextlib.asynccontextmanager
    async def place(self, caller: str = "") -> AsyncIterator[bool]:
        """Holds a place among the running scripts. Waits for it, or raises Busy at once when the queue is full. Yields
        whether the caller, one of several, already had another place."""
        if self._closed:
            raise _ending()
        if caller in self._waiting or not self._may_run(caller):
            await self._turn(caller)
        else:
            self._running[caller] += 1
        try:
            yield self._shared and self._running[caller] > 1
        finally:
            self._leave(caller)

    def close(self) -> None:
        """Refuses scripts that wait or arrive from now on. Running scripts continue."""
        self._closed = True
        for waiter in self._waiting:
            waiter.refused = True
            waiter.ready.set()
        self._waiting.clear()

    async def _turn(self, caller: str) -> None:
        """Waits until the caller gets a place. Raises Busy."""
        self._check_queue(caller)
        waiter = _Waiter()
        self._waiting.add(caller, waiter)
        try:
            await waiter.ready.wait()
        except BaseException:
            if not waiter.ready.is_set():
                self._waiting.remove(caller, waiter)
            elif not waiter.refused:  # cancelled with a place already given
                self._leave(caller)
            raise
        if waiter.refused:
            raise _ending()

    def _check_queue(self, caller: str) -> None:
        """Raises Busy when no more scripts of this caller may wait."""
        own = self._waiting.count(caller)
        # The total of all queues is shared as the places are: one caller takes at most half of it.
        left = _QUEUES * self._queue - self.waiting
        has_share = not self._shared or own < left
        if own < self._queue and has_share:
            return
        running = self._running[caller]
        settings = f"raise {self._setting} or sandbox.max_queue, or " if self._setting else ""
        raise errors.Busy(
            f"{running} of your {self._what} are running and {own} wait; try again in a few seconds",
            remedy=f"{settings}run more replicas",
        )

    def _may_run(self, caller: str) -> bool:
        """Says whether a caller may have one more place."""
        free = self._places - self.running
        if free <= 0:
            return False
        # Attack: one caller fills all places. A caller that has as many as are free waits, so another finds some.
        return not self._shared or self._running[caller] < free

    def _leave(self, caller: str) -> None:
        """Frees a place, and gives free places to the callers whose turn it is."""
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        while (following := self._waiting.take(self._may_run)) is not None:
            next_caller, waiter = following
            self._running[next_caller] += 1
            waiter.ready.set()


def _ending() -> errors.Busy:
    return errors.Busy("the server is about to end; try again in a few seconds", code="busy.ending")


class Places:
    """The limits that the scripts of one server share."""

    def __init__(
        self, scripts: int, queue: int, *, shared: bool = False, what: str = "scripts", setting: str = _SETTING
    ) -> None:
        """The parameters are those of `Concurrency`."""
        self.scripts = Concurrency(scripts, queue, shared=shared, what=what, setting=setting)
        self.waits = Concurrency(max(1, scripts // 2), queue, shared=shared)
        """Scripts that wait for a cluster may take half an hour; they leave at least half of the places to all
        others."""
        self.threads = anyio.CapacityLimiter(scripts)
        """Threads have a separate limit, because the thread of a cancelled script outlives its place."""

    def close(self) -> None:
        """Refuses scripts that wait or arrive from now on."""
        self.scripts.close()
        self.waits.close()
