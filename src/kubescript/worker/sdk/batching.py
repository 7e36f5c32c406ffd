"""Owns the relay between the SDK and the transport, which can hold a call back so that several are made together.

parallel.py runs a script's function up to its first API call; the call stops the function with `Held`, and the relay
keeps the call. The relay then sends the calls of all functions together, and each function runs again and gets the
answer of its call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from kubescript.wire import protocol
from kubescript.wire.protocol import Call
from kubescript.worker.sdk import transport

__all__ = ["Held", "Relay", "Sends", "Strayed"]

# Bytes for the calls of one BATCH frame; one KiB of its cap is left for the rest of the frame.
_ROOM: Final = protocol.CAPS[protocol.FrameType.BATCH] - protocol.KIB


class Sends:
    """The base of SDK objects that make API calls when they are called."""

    takes_body = False
    """Whether it has a parameter for an object; a dict among its arguments may then be that object."""


# Held is no Exception: an `except Exception` in a script must not catch it.
class Held(BaseException):
    """Stops a function at a call that is held back."""


class Strayed(Exception):
    """A function made another call when it ran again."""


_STRAYED: Final = (
    "k8s.parallel runs a function up to its first API call, then all of it: what comes before that call must give the "
    "same twice (no pop(), next() or counting there); or pass the call as a tuple: (k8s.coreV1().read_node, name)"
)


class Arriving(Protocol):
    """A list body that is still arriving."""

    def settle(self) -> None:
        """Reads the body to its end, or stops it."""


class Relay:
    """A transport on top of another one."""

    def __init__(self, below: transport.Transport) -> None:
        self._below = below
        self._holding = False
        self._held: list[Call | None] = []
        self._prepared: tuple[Call, transport.Exchange] | None = None
        self._diverged = False
        self.arriving: Arriving | None = None
        """The list whose body is still arriving."""
        self.pending: list[Any] = []
        """Futures that nobody has waited for yet; see futures.py."""

    def settle(self) -> None:
        """Settles the list that is still arriving, so that the wire is free for the next answer."""
        arriving, self.arriving = self.arriving, None
        if arriving is not None:
            arriving.settle()

    def hold(self) -> None:
        """Stops the function when calls are held back. Code that makes several calls by itself calls this first."""
        if self._holding:
            self._held.append(None)
            raise Held

    def call(self, call: Call) -> transport.Exchange:
        """Makes the call, unless calls are held back or its answer is there already."""
        # Discovery is never held back: the SDK asks it once, to learn which call a script means.
        if _is_discovery(call):
            return self._below.call(call)
        if self._holding:
            self._held.append(None if call.stream else call)
            raise Held
        if self._prepared is None:
            return self._below.call(call)
        expected, exchange = self._prepared
        if expected != call:
            # The script may swallow this exception, so `again` raises it once more when the task ends.
            self._diverged = True
            raise Strayed(_STRAYED)
        self._prepared = None
        return exchange

    def first(self, task: Callable[[], Any]) -> tuple[bool, Call | None, Any]:
        """Runs a task up to its first call. Returns whether it made one, the call (None for a call that must be made by
        itself), and the task's value if it made none."""
        # What the task prints now is dropped, or it would be there twice when the task runs again.
        self._held, self._holding, self._below.quiet = [], True, True
        try:
            value = task()
        except Held:
            value = None
        finally:
            self._holding = self._below.quiet = False
        return bool(self._held), self._held[0] if self._held else None, value

    def again(self, task: Callable[[], Any], call: Call, exchange: transport.Exchange) -> Any:
        """Runs a task again with the answer to its first call. Raises Strayed when it makes another call, or leaves out
        a write."""
        self._prepared, self._diverged = (call, exchange), False
        try:
            value = task()
        finally:
            left, self._prepared = self._prepared, None
            if left is not None:
                exchange.stop()
        # A task may leave out a read, for it may have found the value in a cache of its own.
        if self._diverged or (left is not None and call.method != "GET"):
            raise Strayed(_STRAYED)
        return value

    def batches(self, calls: Sequence[Call]) -> Iterator[transport.Exchange]:
        """Yields the exchanges of all calls, sent in as few frames as they fit in. Calls beyond the budget are not
        sent."""
        limit = max(0, self._below.left.api_calls)
        for some in _portions(calls[:limit]):
            exchanges = [self._below.call(some[0])] if len(some) == 1 else list(self._below.batch(some))
            try:
                while exchanges:
                    yield exchanges.pop(0)
            finally:
                for unused in exchanges:
                    unused.stop()
        # The host would refuse these calls, and end the script soon.
        for _ in calls[limit:]:
            yield _Unsent()


class _Unsent:
    """The answer to a call beyond the script's budget."""

    reply = protocol.Reply(0, fault=protocol.ScriptFault("limit.calls", "the script's API calls are used up"))

    def chunks(self) -> Iterator[bytes]:
        """No body."""
        return iter(())

    def stop(self) -> None:
        """Nothing to stop."""


def _is_discovery(call: Call) -> bool:
    """Tells whether a call asks what the cluster serves: /api, /api/v1, /apis, /apis/group, /apis/group/version,
    /version, /openapi/…."""
    most = {"api": 2, "apis": 3, "version": 1, "openapi": 9}
    return call.method == "GET" and 0 < len(call.path) <= most.get(call.path[0], 0)


def _portions(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Yields the calls in order, as many at a time as one frame takes."""
    some: list[Call] = []
    size = 0
    for call in calls:
        own = len(msgspec.json.encode(call)) + 1
        if some and (len(some) == protocol.MAX_BATCH or size + own > _ROOM):
            yield some
            some, size = [], 0
        some.append(call)
        size += own
    if some:
        yield some
