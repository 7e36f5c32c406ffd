"""What ends an exchange before its answer does: its deadline, the cancellation of its call, and the closing of its
cluster. `live` calls it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from kubescript.cluster import timers
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    from kubescript.cluster import connections

__all__ = ["Aborts", "abort_without_head"]

# Shared by all clusters and callers: separate timers would each keep a thread until their last call's deadline.
_timers: Final = timers.Timers()


class Aborts:
    """The exchanges of one cluster that are in progress. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._exchanges: set[connections.Exchange] = set()

    def register(self, exchange: connections.Exchange, cancel: cancellation.Cancellation) -> Callable[[], None]:
        """Registers the exchange with everything that can abort it; returns the function that unregisters it."""
        with self._lock:
            self._exchanges.add(exchange)
        clear = _timers.at(exchange.deadline, lambda: exchange.abort("timeout"))
        registered = cancel.closing(lambda: exchange.abort("cancelled"))
        registered.__enter__()
        once = threading.Lock()  # the end of the chunks and `close` both release, from any thread

        def release() -> None:
            if once.acquire(blocking=False):
                clear()
                registered.__exit__(None, None, None)
                with self._lock:
                    self._exchanges.discard(exchange)

        return release

    def close(self) -> None:
        """Aborts every exchange."""
        with self._lock:
            exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.abort("closed")


@contextlib.contextmanager
def abort_without_head(exchange: connections.Exchange, deadline: float) -> Iterator[None]:
    """Aborts the exchange unless its answer begins before a deadline (time.monotonic)."""
    # urllib3's own limits do not suffice: a server may use up the time with single bytes.
    if deadline >= exchange.deadline:
        yield
        return
    clear = _timers.at(deadline, lambda: exchange.abort("patience"))
    try:
        yield
    finally:
        clear()
