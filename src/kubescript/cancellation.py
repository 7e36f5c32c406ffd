"""A switch that ends one script's work from another thread: its worker, and the API request it waits for."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator

__all__ = ["Cancellation"]


class Cancellation:
    """Thrown once, by whoever learns that nobody waits for the answer any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys = itertools.count()
        self._closers: dict[int, Callable[[], None]] = {}
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether it was thrown."""
        return self._cancelled

    def cancel(self) -> None:
        """Throw it: every registered closer runs now, in this thread; later ones run as they register."""
        with self._lock:
            self._cancelled = True
            closers, self._closers = list(self._closers.values()), {}
        for close in closers:
            close()

    @contextlib.contextmanager
    def closing(self, close: Callable[[], None]) -> Iterator[None]:
        """While inside, `cancel` calls `close`, which must be quick, thread-safe and must not raise."""
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
