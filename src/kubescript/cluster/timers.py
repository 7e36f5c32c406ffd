"""Functions that run at a given time, and the clock of the times that a sleeping machine does not stop. `live` uses the
first to abort a call at its deadline."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable

__all__ = ["Timers", "uptime"]


def uptime() -> float:
    """Returns the machine's uptime in seconds, including the time asleep."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Timers:
    """A queue of functions that run at their times, in one thread that exists only while a time is set."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._times: list[tuple[float, int]] = []
        self._actions: dict[int, Callable[[], None]] = {}
        """Number → action. A time whose number is missing here was cancelled."""
        self._numbers = itertools.count()
        self._running = False

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        """Runs `action`, which must be short, at `when` (time.monotonic). Returns the function that cancels it."""
        with self._changed:
            number = next(self._numbers)
            self._actions[number] = action
            heapq.heappush(self._times, (when, number))
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="kubescript-deadlines", daemon=True).start()
            elif self._times[0][1] == number:
                # The thread sleeps until the previously earliest time, so it must be woken.
                self._changed.notify()
        return lambda: self._clear(number)

    def _clear(self, number: int) -> None:
        # The time stays in the heap, because removing it would take a search; `_next` skips it.
        with self._changed:
            self._actions.pop(number, None)

    def _run(self) -> None:
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Callable[[], None] | None:
        """Waits for the next action and returns it; None when none is left, which ends the thread."""
        with self._changed:
            while self._times:
                when, number = self._times[0]
                if number in self._actions and when > time.monotonic():
                    self._changed.wait(when - time.monotonic())
                    continue  # an earlier time may have been set during the wait
                heapq.heappop(self._times)
                action = self._actions.pop(number, None)
                if action is not None:
                    return action
            self._running = False
            return None
