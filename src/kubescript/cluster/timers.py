"""Functions that run at their time: how `live` cuts the line of a call whose deadline passes."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable

__all__ = ["Timers"]


class Timers:
    """Runs functions at their time in one thread, which exists only while something is set."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._times: list[tuple[float, int]] = []
        self._actions: dict[int, Callable[[], None]] = {}
        """By number; a time whose number is missing here was cleared."""
        self._numbers = itertools.count()
        self._running = False

    def at(self, when: float, action: Callable[[], None]) -> Callable[[], None]:
        """Have `action`, which must be short, run at `when` (time.monotonic). Returns the function that clears it."""
        with self._changed:
            number = next(self._numbers)
            self._actions[number] = action
            heapq.heappush(self._times, (when, number))
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="kubescript-deadlines", daemon=True).start()
            elif self._times[0][1] == number:
                self._changed.notify()
        return lambda: self._clear(number)

    def _clear(self, number: int) -> None:
        with self._changed:
            self._actions.pop(number, None)

    def _run(self) -> None:
        while (action := self._next()) is not None:
            action()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while self._times:
                when, number = self._times[0]
                if number in self._actions and when > time.monotonic():
                    self._changed.wait(when - time.monotonic())
                    continue
                heapq.heappop(self._times)
                if action := self._actions.pop(number, None):
                    return action
            self._running = False
            return None
