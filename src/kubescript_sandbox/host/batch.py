"""Makes a batch's calls at the same time. Each answer is kept until its turn comes. Called by `replies`.

Calls start in order, at most `MAX_IN_FLIGHT` at once. A call counts as in flight until its body has been read to the
end. Small bodies are read ahead to make room for the next call. The rest of a large body waits in its own connection,
and the API server waits with it. The memory held here stays below `MAX_AHEAD` times two pieces of a body.
"""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import typing
from collections.abc import Callable, Iterator
from typing import Final

from kubescript_sandbox import errors
from kubescript_sandbox.wire import protocol

__all__ = ["MAX_IN_FLIGHT", "Batch", "Body", "Fetched"]

log = logging.getLogger(__name__)


class Body(typing.Protocol):
    """An answer's body, still arriving."""

    @property
    def chunks(self) -> Iterator[bytes]:
        """The bytes in order. Raises CodedError when the body breaks off."""

    @property
    def close(self) -> Callable[[], None]:
        """Gives up the rest. Any thread may call it, any number of times."""


Fetch = Callable[[int], tuple[protocol.Reply, Body | None]]
"""Makes the call with that index."""

MAX_IN_FLIGHT: Final = 8
MAX_AHEAD: Final = 32
"""How many calls may begin before earlier answers are taken."""
READ_AHEAD: Final = 256 * protocol.KIB
"""How many bytes of a body are read before its turn."""
_LISTEN_S: Final = 0.05
# How many seconds to wait for aborted calls. They normally end at once; the limit is for one that does not.
_END_S: Final = 1.0


class Fetched:
    """One answer whose body is being read."""

    def __init__(self, reply: protocol.Reply, response: Body | None) -> None:
        self.reply = reply
        self._response = response
        self._ahead: list[bytes] = []
        self._broken: errors.CodedError | None = None
        self.whole = response is None
        """Whether the body was read to its end, or broke off."""

    def read_ahead(self) -> None:
        """Reads the beginning of the body, or all of a small one."""
        size = 0
        try:
            while self._response is not None and not self.whole and size < READ_AHEAD:
                chunk = next(self._response.chunks, None)
                self.whole = chunk is None
                self._ahead += [chunk] if chunk else []
                size += len(chunk or b"")
        except errors.CodedError as error:
            self._broken, self.whole = error, True

    def chunks(self) -> Iterator[bytes]:
        """Yields the body. Raises CodedError when it breaks off."""
        while self._ahead:
            yield self._ahead.pop(0)
        if self._broken is not None:
            raise self._broken
        if not self.whole and self._response is not None:
            yield from self._response.chunks

    def close(self) -> None:
        """Gives up the rest of the body. Any thread may call it, any number of times."""
        if self._response is not None:
            self._response.close()


class Batch:
    """Several calls made at the same time. The thread that takes the answers must always close it."""

    def __init__(self, fetch: Fetch, count: int, refuse: Callable[[protocol.ScriptFault], protocol.Reply]) -> None:
        """`refuse` returns the head of the answer to a call that failed unexpectedly."""
        self._fetch = fetch
        self._refuse = refuse
        self._count = count
        self._changed = threading.Condition()
        self._answers: dict[int, Fetched] = {}
        self._begun = self._taken = self._in_flight = 0
        self._closed = False
        workers = range(min(count, MAX_IN_FLIGHT))
        self._threads = [
            # The thread runs in the script's context, so that log lines name its caller.
            threading.Thread(
                target=contextvars.copy_context().run, args=(self._work,), name="kubescript-parallel", daemon=True
            )
            for _ in workers
        ]
        for thread in self._threads:
            thread.start()

    def answers(self, meanwhile: Callable[[], None]) -> Iterator[Fetched]:
        """Yields the answers in the order of the calls. Calls `meanwhile` from time to time while waiting."""
        for index in range(self._count):
            answer = self._take(index, meanwhile)
            try:
                yield answer
            finally:
                answer.close()
                self._release(answer)

    def close(self) -> None:
        """Starts no more calls, gives up the answers that were not taken, and waits until no call is running.

        A caller that gives up calls must abort them first.
        """
        # The wait is for the audit: each call must be recorded before the answer to its script is sent.
        with self._changed:
            self._closed = True
            left, self._answers = list(self._answers.values()), {}
            self._changed.notify_all()
        for answer in left:
            answer.close()
        deadline = time.monotonic() + _END_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if any(thread.is_alive() for thread in self._threads):
            log.error("a parallel call does not end", extra={"event": "batch.bug"})

    def _take(self, index: int, meanwhile: Callable[[], None]) -> Fetched:
        """Waits for the answer to a call, and takes it."""
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: index in self._answers, _LISTEN_S):
                    self._taken += 1
                    self._changed.notify_all()
                    return self._answers.pop(index)
            meanwhile()

    def _release(self, answer: Fetched) -> None:
        with self._changed:
            if not answer.whole:
                self._in_flight -= 1
                self._changed.notify_all()

    def _work(self) -> None:
        while (index := self._claim()) is not None:
            answer = self._answer_call(index)
            with self._changed:
                if answer.whole:
                    self._in_flight -= 1
                late = self._closed
                if not late:
                    self._answers[index] = answer
                self._changed.notify_all()
            if late:
                answer.close()

    def _claim(self) -> int | None:
        """Returns the index of the next call that may begin; None when there is none."""
        # Calls begin in order, so that the next answer always belongs to a call that has begun.
        with self._changed:
            self._changed.wait_for(self._may_go_on)
            if self._closed or self._begun == self._count:
                return None
            self._begun += 1
            self._in_flight += 1
            return self._begun - 1

    def _may_go_on(self) -> bool:
        """Says whether a thread may stop waiting: there is room for a call, or nothing left to begin."""
        ahead = self._begun - self._taken
        has_room = self._in_flight < MAX_IN_FLIGHT and ahead < MAX_AHEAD
        return has_room or self._closed or self._begun == self._count

    def _answer_call(self, index: int) -> Fetched:
        response = None
        try:
            reply, response = self._fetch(index)
            answer = Fetched(reply, response)
            answer.read_ahead()
        except Exception:  # the thread that waits for this index must get an answer
            log.exception("a parallel call failed in an unforeseen way", extra={"event": "batch.bug"})
            if response is not None:
                response.close()
            fault = protocol.ScriptFault("internal", "the server failed to perform the call; see its log")
            return Fetched(self._refuse(fault), None)
        return answer
