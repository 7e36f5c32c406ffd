"""Ends one script's work from another thread: its worker, and the API request it waits for."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator

from kubescript_sandbox import errors

__all__ = ["Cancellation", "Patience"]


class Cancellation:
    """A switch that is thrown once, when nobody waits for the answer any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys = itertools.count()
        self._closers: dict[int, Callable[[], None]] = {}
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether the switch was thrown."""
        return self._cancelled

    def cancel(self) -> None:
        """Throws the switch: every registered closer runs now, in this thread; later ones run as they register."""
        with self._lock:
            self._cancelled = True
            closers, self._closers = list(self._closers.values()), {}
        for close in closers:
            close()

    @contextlib.contextmanager
    def closing(self, close: Callable[[], None]) -> Iterator[None]:
        """Has `cancel` call `close` while the block runs; `close` must be quick, thread-safe and must not raise."""
        with self._lock:
            key = next(self._keys)
            late = self._cancelled
            self._closers[key] = close
        if late:
            close()
        try:
            yield
        finally:
            with self._lock:
                self._closers.pop(key, None)

    def wait(self, seconds: float) -> bool:
        """Waits so long, or until the switch is thrown; says whether it was."""
        woken = threading.Event()
        with self.closing(woken.set):
            woken.wait(seconds)
        return self._cancelled


class Patience:
    """How long masking a piece of text may take.

    The first call starts the clock, because the rules may have to be compiled first, which takes seconds on a busy
    machine.
    """

    def __init__(self, seconds: float, cancelled: Callable[[], bool] = bool, *, grace_s: float = 0.0) -> None:
        """`grace_s` is how many seconds are left after a cancellation."""
        self._seconds = seconds
        self._cancelled = cancelled
        self._grace_s = grace_s
        self._is_hurried = False
        self._deadline: float | None = None

    def __call__(self) -> None:
        """Raises LimitExceeded (limit.time, cancelled) when the time is over."""
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._seconds
        if not self._is_hurried and self._cancelled():
            if not self._grace_s:
                raise errors.LimitExceeded("the call was cancelled while its answer was masked", code="cancelled")
            self._is_hurried = True
            self._deadline = min(self._deadline, now + self._grace_s)
        if now > self._deadline:
            raise errors.LimitExceeded(
                "masking the answer took longer than the call may take, so it is withheld; return and print less, or "
                "raise timeout_ms"
            )
