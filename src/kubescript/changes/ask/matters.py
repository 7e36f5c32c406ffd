"""A plan, and the call that is waiting for its end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import anyio.from_thread
import msgspec

from kubescript import types
from kubescript.changes.ask import question, remembered
from kubescript.changes.store import record

__all__ = ["Matter", "holding", "reporter"]


@dataclass(frozen=True, slots=True)
class Matter:
    """A plan, and the call that is waiting for its end."""

    answer: types.Answer
    """The script's answer."""
    found: record.Record
    caller: types.Caller
    on_progress: types.OnProgress | None


@contextlib.contextmanager
def holding(call: question.Call, matter: Matter) -> Iterator[None]:
    """Counts an answer in its caller's budget while it waits for a person or for the end of its plan. Raises Busy."""
    budget = call.budget
    if budget is None:
        yield
        return
    # Attack: answers of 4 MiB wait for a person who never decides: 565 MiB in a minute.
    size = remembered.measure(matter.answer) + 2 * len(msgspec.json.encode(matter.found.plan))
    with budget.holding(size):
        yield


def reporter(on_progress: types.OnProgress | None) -> Callable[[int, int, str], None]:
    """Returns a function that reports progress from the thread that applies a plan."""

    def report(done: int, count: int, text: str) -> None:
        if on_progress is not None:
            anyio.from_thread.run(on_progress, done, count, text)

    return report
