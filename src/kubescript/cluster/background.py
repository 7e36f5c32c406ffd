"""Work that may hang, in a thread of its own: no call waits for its end longer than the call's own time allows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent import futures
from typing import Any, TypeVar

from kubescript import errors
from kubescript_sandbox.host import cancellation

__all__ = ["start", "wait"]

_T = TypeVar("_T")


def start(name: str, work: Callable[[], _T]) -> futures.Future[_T]:
    """Runs `work` in a thread of this name."""
    future: futures.Future[_T] = futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    return future


def wait(future: futures.Future[_T], deadline: float, cancel: cancellation.Cancellation) -> _T:
    """Returns the result, or raises what `work` has raised. Raises TimeoutError at the deadline (time.monotonic), and
    ClusterError when the call is cancelled."""
    stopped: futures.Future[None] = futures.Future()
    either: list[futures.Future[Any]] = [future, stopped]
    with cancel.closing(lambda: stopped.set_result(None)):
        left = max(0.001, deadline - time.monotonic())
        done, _ = futures.wait(either, left, futures.FIRST_COMPLETED)
    if future in done:
        return future.result()
    if cancel.cancelled:
        raise errors.ClusterError("the call was cancelled", code="cluster.cancelled")
    raise TimeoutError
