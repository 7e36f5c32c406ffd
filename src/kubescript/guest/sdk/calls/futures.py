"""Owns futures: `async_req=True` of a method, and `concurrent.futures` as far as scripts use it.

There are no threads. Tasks that are submitted run when the script waits for any of them, or when it ends. Then all of
them run side by side, and their API calls are made at the same time (see batching.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, Self

from kubescript.guest.sdk.calls import batching

__all__ = ["Future", "complete", "exports", "later"]


class Future:
    """The result of `executor.submit`, and of a method with `async_req=True`."""

    __slots__ = ("_callbacks", "_cancelled", "_link", "_outcome", "_task")

    def __init__(self, link: batching.Relay, task: batching.Task) -> None:
        # Attack: a link of the script's, whose `pending` holds anything: `complete` sets `_outcome` on it.
        if type(link) is not batching.Relay:
            raise TypeError("a future is made by executor.submit(function, ...), or by a method with async_req=True")
        self._link = link
        self._task = task
        self._outcome: batching.Outcome | None = None
        self._cancelled = False
        self._callbacks: list[Callable[[Future], Any]] = []

    def result(self, timeout: float | None = None) -> Any:
        """The value, or the exception raised."""
        value, error = self._await_outcome()
        if error is not None:
            raise error
        return value

    get = result

    def exception(self, timeout: float | None = None) -> Exception | None:
        """The exception, or None."""
        return self._await_outcome()[1]

    def wait(self, timeout: float | None = None) -> None:
        """Run all pending tasks, this one among them."""
        self._await_outcome()

    def done(self) -> bool:
        """True, always: the task is run when a script asks."""
        # Nothing runs beside the script, so the task runs here.
        self._await_outcome()
        return True

    ready = done

    def successful(self) -> bool:
        """Whether it raised nothing."""
        return self._await_outcome()[1] is None

    def running(self) -> bool:
        """False, always: nothing runs beside the script."""
        return False

    def cancel(self) -> bool:
        """Cancel the task, unless it is done. Tells whether it is cancelled."""
        if self._outcome is None:
            self._link.pending.remove(self)
            self._outcome, self._cancelled = (None, CancelledError()), True
        return self._cancelled

    def cancelled(self) -> bool:
        """Whether the task was cancelled."""
        return self._cancelled

    def add_done_callback(self, function: Callable[[Future], Any]) -> None:
        """Call the function with this future when the task is done."""
        if self._outcome is None:
            self._callbacks.append(function)
        else:
            function(self)

    def _run(self) -> None:
        try:
            self._outcome = self._task(), None
        except Exception as error:
            self._outcome = None, error
        for function in self._callbacks:
            function(self)

    def _await_outcome(self) -> batching.Outcome:
        if self._outcome is None:
            complete(self._link)
        while self._outcome is None:
            self._link.pause()  # it runs beside the task that waits for it
        return self._outcome

    def __repr__(self) -> str:
        state = "pending" if self._outcome is None else "finished"
        return f"<Future {state}: write .result() or .get() for the value>"


def later(link: batching.Relay, task: batching.Task) -> Future:
    """Returns a future of `task`, which runs when the script waits for a future."""
    future = Future(link, task)
    link.pending.append(future)
    return future


def complete(link: batching.Relay) -> None:
    """Runs all pending tasks. The script's end calls this too."""
    # A task or a callback may submit more tasks, hence the loop.
    while link.pending:
        futures, link.pending = link.pending, []
        for _, error in link.run([each._run for each in futures]):
            if error is not None:
                raise error  # of a callback


class CancelledError(Exception):
    """The future was cancelled."""


class DoneAndNotDone(NamedTuple):
    """The result of `wait`."""

    done: set[Future]
    not_done: set[Future]


class Executor:
    """`ThreadPoolExecutor`, without threads."""

    _link: batching.Relay

    def __init__(self, max_workers: int | None = None, *_args: object, **_options: object) -> None:
        """Ignores the number of workers: at most 8 calls are in flight."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Submit fn(*args, **kwargs)."""
        return later(self._link, functools.partial(fn, *args, **kwargs))

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """The values of fn, in order. A task's exception is raised when its turn comes."""
        futures = [self.submit(fn, *each) for each in zip(*iterables, strict=False)]
        return (future.result() for future in futures)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Run all pending tasks."""
        complete(self._link)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()


def _as_completed(fs: Iterable[Future] | Mapping[Future, Any], timeout: float | None = None) -> Iterator[Future]:
    """Yields the futures in the order given, each of them done."""
    for future in list(fs):
        future.wait()
        yield future


def _wait(fs: Iterable[Future], timeout: float | None = None, return_when: str = "") -> DoneAndNotDone:
    """Runs all of them."""
    return DoneAndNotDone(set(_as_completed(fs)), set())


_WORDS: Final = {name: name for name in ("ALL_COMPLETED", "FIRST_COMPLETED", "FIRST_EXCEPTION")}


def exports(link: batching.Relay) -> dict[str, object]:
    """Returns the names of `concurrent.futures`."""
    pool = type("ThreadPoolExecutor", (Executor,), {"_link": link})
    names = {"ThreadPoolExecutor": pool, "ProcessPoolExecutor": pool, "Executor": pool, "Future": Future}
    errors = {"CancelledError": CancelledError, "TimeoutError": TimeoutError}
    return {**names, **errors, **_WORDS, "as_completed": _as_completed, "wait": _wait}
