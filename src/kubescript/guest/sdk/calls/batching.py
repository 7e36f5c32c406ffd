"""Provides the relay between the SDK and the transport, which runs several functions of a script side by side and makes
their calls together.

Each function runs once, in its own greenlet. At an API call it stops. When all have stopped or ended, the relay makes
their calls at the same time, and the functions go on with their answers, in order.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, Final, Protocol

import greenlet
import msgspec

from kubescript.guest.sdk.calls import transport
from kubescript.wire import exchanges
from kubescript.wire.exchanges import Call
from kubescript_sandbox.wire import protocol

__all__ = ["Outcome", "Relay", "Sends", "Task"]

Task = Callable[[], Any]
Outcome = tuple[Any, Exception | None]
"""A task's return value, or the exception that it raises."""

# How many bytes the calls of one BATCH frame may have; one KiB of the frame's cap is left for the rest of it.
_ROOM: Final = protocol.CAPS[protocol.FrameType.BATCH] - protocol.KIB
_WAIT_IN_VAIN: Final = "futures wait for each other, or for themselves"


class Sends:
    """The base of SDK objects that make API calls when they are called."""

    takes_body = False
    """Whether the call has a parameter for an object; a dict argument may then be that object."""


class Arriving(Protocol):
    """A list body that is still arriving."""

    def settle(self) -> None:
        """Reads the body to its end, or stops it."""


class _Ended(BaseException):
    """Ends a task."""

    # GreenletExit would not be suitable: a script could raise it in another task, where it does not count as an error.


class Work:
    """One task in its own greenlet."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.calls: Sequence[Call] | None = ()
        """The calls that the task is waiting for; empty while it waits for another task, None when it has ended."""
        self.outcome: Outcome = (None, None)
        self._greenlet = greenlet.greenlet(self._run)
        # Settings such as those of `decimal` belong to the script, so each greenlet begins with a copy of them.
        self._greenlet.gr_context = contextvars.copy_context()

    def go_on(self, *exchanges: transport.Exchange) -> None:
        """Passes the answers to the last calls to the task, and runs it to its next calls or its end."""
        if self._greenlet:
            self.calls = self._greenlet.switch(list(exchanges))
        else:
            # A greenlet is false before its first switch, which starts the task without arguments.
            self.calls = self._greenlet.switch()

    def fail(self, error: Exception) -> None:
        """Raises `error` at the point where the task is waiting."""
        self.calls = self._greenlet.throw(error)

    def end(self) -> None:
        """Ends a task that has not ended, without making any more of its calls."""
        # A task may catch the exception and wait again, hence the loop.
        while self._greenlet:
            with contextlib.suppress(_Ended):
                self._greenlet.throw(_Ended)

    def _run(self) -> None:
        try:
            self.outcome = self.task(), None
        except Exception as error:
            self.outcome = None, error


class Relay:
    """A transport on top of another one."""

    def __init__(self, below: transport.Transport) -> None:
        self._below = below
        self.arriving: Arriving | None = None
        """The list whose body is still arriving."""
        self.pending: list[Any] = []
        """Futures that the script has not waited for yet; see futures.py."""

    def settle(self) -> None:
        """Settles the list that is still arriving, so that the wire is free for the next answer."""
        arriving, self.arriving = self.arriving, None
        if arriving is not None:
            arriving.settle()

    def call(self, call: Call) -> transport.Exchange:
        """Makes the call; in a task, makes it together with the calls of the other tasks."""
        # Discovery is made at once: the SDK needs it to find out which call the script means.
        if _is_discovery(call):
            return self._below.call(call)
        return next(self.call_all([call]))

    def pause(self) -> None:
        """Lets the other tasks go on. Raises RuntimeError outside of tasks."""
        parent = _parent()
        if parent is None:
            raise RuntimeError(_WAIT_IN_VAIN)
        parent.switch(())

    def run(self, tasks: Sequence[Task], check: Callable[[Sequence[Work]], None] = lambda _: None) -> list[Outcome]:
        """Returns the outcome of each task. `check` may raise when all tasks have reached their first call, before any
        call is made."""
        works = [Work(task) for task in tasks]
        try:
            for each in works:
                self._go_on(each)
            check(works)
            while waiting := [each for each in works if each.calls is not None]:
                self._round(waiting)
        finally:
            # If `check` or a callback has raised an exception, tasks are still waiting.
            for each in works:
                each.end()
        return [each.outcome for each in works]

    def _round(self, waiting: Sequence[Work]) -> None:
        """Makes the calls that tasks are waiting for, and lets each task go on."""
        calls: list[Call] = []
        for each in waiting:
            calls.extend(each.calls or ())
        exchanges = self.call_all(calls)
        for each in waiting:
            own = [next(exchanges) for _ in each.calls or ()]
            self._go_on(each, *own)
        still_waiting = all(each.calls == () for each in waiting)
        if not calls and still_waiting:
            waiting[0].fail(RuntimeError(_WAIT_IN_VAIN))

    def _go_on(self, work: Work, *exchanges: transport.Exchange) -> None:
        work.go_on(*exchanges)
        # A list that the task began to read must not block the answer of the next task.
        self.settle()

    def call_all(self, calls: Sequence[Call]) -> Generator[transport.Exchange]:
        """Yields the answers to calls that are made at the same time, in order; stops those that are not taken."""
        parent = _parent()
        if parent is None or not calls:
            return self._batches(calls)
        return _hand_out(parent.switch(calls))

    def _batches(self, calls: Sequence[Call]) -> Generator[transport.Exchange]:
        """Sends the calls in as few frames as possible. If there are several calls, those beyond the budget are not
        sent."""
        # A single call is always sent, so that the host itself refuses it.
        limit = 1 if len(calls) == 1 else max(0, self._below.left.api_calls)
        for some in _portions(calls[:limit]):
            exchanges = [self._below.call(some[0])] if len(some) == 1 else list(self._below.batch(some))
            yield from _hand_out(exchanges)
        # The host would refuse these calls, and end the script soon.
        for _ in calls[limit:]:
            self._below.left.unsent += 1
            yield _Unsent()


class _Unsent:
    """The answer to a call beyond the script's budget."""

    reply = exchanges.Reply(0, fault=protocol.ScriptFault("limit.calls", "the script's API calls are used up"))

    def chunks(self) -> Iterator[bytes]:
        """Yields nothing: there is no body."""
        return iter(())

    def stop(self) -> None:
        """Does nothing: there is no body to stop."""


def _hand_out(exchanges: list[transport.Exchange]) -> Generator[transport.Exchange]:
    """Yields the answers in order; stops those that are not taken."""
    try:
        while exchanges:
            yield exchanges.pop(0)
    finally:
        for unused in exchanges:
            unused.stop()


def _parent() -> greenlet.greenlet | None:
    """Returns the greenlet that runs the tasks; None outside of tasks."""
    return greenlet.getcurrent().parent


def _is_discovery(call: Call) -> bool:
    """Says whether a call asks what the cluster serves: /api, /api/v1, /apis, /apis/group, /apis/group/version,
    /version, /openapi/…."""
    if call.method != "GET" or not call.path:
        return False
    # Longer paths read objects, such as /api/v1/pods.
    longest = {"api": 2, "apis": 3, "version": 1, "openapi": 9}
    return len(call.path) <= longest.get(call.path[0], 0)


def _portions(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Yields the calls in order, as many at a time as fit in one frame; a stream alone."""
    some: list[Call] = []
    size = 0
    for call in calls:
        # One byte is added for the comma between two calls.
        own = len(msgspec.json.encode(call)) + 1
        full = len(some) == protocol.MAX_BATCH or size + own > _ROOM
        if some and (full or call.stream or some[-1].stream):
            yield some
            some = []
            size = 0
        some.append(call)
        size += own
    if some:
        yield some
