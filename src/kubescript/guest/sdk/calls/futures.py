"""Provides futures: those of methods with `async_req=True`, and the part of `concurrent.futures` that scripts use.

There are no threads. Submitted tasks run when the script waits for any of them, or when it ends. Then all of them run
side by side, and their API calls are made at the same time (see batching.py).
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
        # Attack: a script passes its own object as the link; `complete` would set `_outcome` on anything in `pending`.
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
        _, error = self._await_outcome()
        return error

    def wait(self, timeout: float | None = None) -> None:
        """Run all pending tasks, this one among them."""
        self._await_outcome()

    def done(self) -> bool:
        """True, always: the task runs now if it has not yet."""
        # Nothing runs beside the script: a loop until `done()` would never end if the task did not run here.
        self._await_outcome()
        return True

    ready = done

    def successful(self) -> bool:
        """Whether it raised nothing."""
        _, error = self._await_outcome()
        return error is None

    def running(self) -> bool:
        """False, always: nothing runs beside the script."""
        return False

    def cancel(self) -> bool:
        """Cancel the task, unless it is done. True if it is cancelled."""
        if self._outcome is None:
            self._link.pending.remove(self)
            self._outcome = None, CancelledError()
            self._cancelled = True
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
        # The future's task may already be running in another greenlet, beside the task that waits for it.
        while self._outcome is None:
            self._link.pause()
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
        outcomes = link.run([each._run for each in futures])
        # `_run` keeps a task's own exception in its future, so these are exceptions of callbacks.
        for _, error in outcomes:
            if error is not None:
                raise error


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
        # Here already, at the script's own line, `partial` rejects a value that cannot be called.
        task = functools.partial(fn, *args, **kwargs)
        return later(self._link, task)

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """The values of fn, in order. A task's exception is raised when its turn comes."""
        # All tasks are submitted before the first result is read, so that their calls are made together.
        arguments = zip(*iterables, strict=False)
        futures = [self.submit(fn, *each) for each in arguments]
        return (future.result() for future in futures)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Run all pending tasks."""
        complete(self._link)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.shutdown()


def _as_completed(fs: Iterable[Future] | Mapping[Future, Any], timeout: float | None = None) -> Iterator[Future]:
    """Yields the futures in the given order, each of them done."""
    # All tasks run side by side, so the first one in the list is done as early as any other.
    for future in list(fs):
        future.wait()
        yield future


def _wait(fs: Iterable[Future], timeout: float | None = None, return_when: str = "") -> DoneAndNotDone:
    """Runs all tasks; `return_when` has no effect."""
    done = set(_as_completed(fs))
    return DoneAndNotDone(done, set())


_WORDS: Final = {name: name for name in ("ALL_COMPLETED", "FIRST_COMPLETED", "FIRST_EXCEPTION")}


def exports(link: batching.Relay) -> dict[str, object]:
    """Returns the names of `concurrent.futures`."""
    # Scripts make executors without a link, so their class holds it.
    pool = type("ThreadPoolExecutor", (Executor,), {"_link": link})
    return {
        "ThreadPoolExecutor": pool,
        "ProcessPoolExecutor": pool,
        "Executor": pool,
        "Future": Future,
        "CancelledError": CancelledError,
        "TimeoutError": TimeoutError,
        **_WORDS,
        "as_completed": _as_completed,
        "wait": _wait,
    }
