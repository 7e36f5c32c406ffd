"""The relay between the SDK and the transport. It can hold a call back, so that several are made together.

A script's function runs up to its first API call; there it stops with `Held`, and the relay keeps the call. Once the
answers are on their way the function runs again and gets the answer of that call. Discovery is never held back: the SDK
asks it once, to learn which call a script means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol

import msgspec

from kubescript.wire import protocol
from kubescript.wire.protocol import Call
from kubescript.worker.sdk import transport

__all__ = ["Held", "Relay", "Sends", "Strayed"]

_ROOM: Final = protocol.CAPS[protocol.FrameType.BATCH] - protocol.KIB


class Sends:
    """Something that makes API calls when it is called."""

    takes_body = False
    """It has a parameter for an object, so a dict among its arguments may be that."""


class Held(BaseException):
    """A call was held back. No Exception: a script that handles errors must not take it for one."""


class Strayed(Exception):
    """A function did something else when it was run again."""


_STRAYED: Final = (
    "k8s.parallel runs a function up to its first API call, then all of it: what comes before that call must give the "
    "same twice (no pop(), next() or counting there); or pass the call as a tuple: (k8s.coreV1().read_node, name)"
)


class Arriving(Protocol):
    """A list body on its way."""

    def settle(self) -> None:
        """Read it to its end, or do without the rest."""


class Relay:
    """A transport over another one."""

    def __init__(self, below: transport.Transport) -> None:
        self._below = below
        self._holding = False
        self._held: list[Call | None] = []
        self._prepared: tuple[Call, transport.Exchange] | None = None
        self._diverged = False
        self.arriving: Arriving | None = None
        """The list that is still on its way."""
        self.pending: list[Any] = []
        """Calls that were asked for and that nobody has waited for yet; see futures.py."""

    def settle(self) -> None:
        """Make room on the wire for the next answer."""
        arriving, self.arriving = self.arriving, None
        if arriving is not None:
            arriving.settle()

    def hold(self) -> None:
        """Stop here when calls are being held back: what comes next makes several calls on its own."""
        if self._holding:
            self._held.append(None)
            raise Held

    def call(self, call: Call) -> transport.Exchange:
        """As below, unless calls are held back or the answer is prepared."""
        if _is_discovery(call):
            return self._below.call(call)
        if self._holding:
            self._held.append(None if call.stream else call)
            raise Held
        if self._prepared is None:
            return self._below.call(call)
        expected, exchange = self._prepared
        if expected != call:
            self._diverged = True  # said again when the task ends, should it swallow this
            raise Strayed(_STRAYED)
        self._prepared = None
        return exchange

    def first(self, task: Callable[[], Any]) -> tuple[bool, Call | None, Any]:
        """Run a task up to its first call. Whether it got there, and the call (None: one that is made on its own), or
        what the task gave."""
        self._held, self._holding, self._below.quiet = [], True, True
        try:
            value = task()
        except Held:
            value = None
        finally:
            self._holding = self._below.quiet = False
        return bool(self._held), self._held[0] if self._held else None, value

    def again(self, task: Callable[[], Any], call: Call, exchange: transport.Exchange) -> Any:
        """Run a task whose first call is answered. Raises Strayed when it makes another call, or leaves out a write; an
        answer that it can do without, having found it in a cache of its own, is none of our business."""
        self._prepared, self._diverged = (call, exchange), False
        try:
            value = task()
        finally:
            left, self._prepared = self._prepared, None
            if left is not None:
                exchange.stop()
        if self._diverged or (left is not None and call.method != "GET"):
            raise Strayed(_STRAYED)
        return value

    def batches(self, calls: Sequence[Call]) -> Iterator[transport.Exchange]:
        """The exchanges of all calls, sent in as few frames as they fit in; calls beyond the limit are not sent."""
        limit = max(0, self._below.left.api_calls)
        for some in _portions(calls[:limit]):
            exchanges = [self._below.call(some[0])] if len(some) == 1 else list(self._below.batch(some))
            try:
                while exchanges:
                    yield exchanges.pop(0)
            finally:
                for unused in exchanges:
                    unused.stop()
        for _ in calls[limit:]:
            yield _Unsent()


class _Unsent:
    """The answer to a call for which the script has no budget: the host would refuse it, and end the script soon."""

    reply = protocol.Reply(0, fault=protocol.ScriptFault("limit.calls", "the script's API calls are used up"))

    def chunks(self) -> Iterator[bytes]:
        """No body."""
        return iter(())

    def stop(self) -> None:
        """Nothing to stop."""


def _is_discovery(call: Call) -> bool:
    """Whether this asks what the cluster serves: /api, /api/v1, /apis, /apis/group, /apis/group/version, /version."""
    most = {"api": 2, "apis": 3, "version": 1, "openapi": 9}
    return call.method == "GET" and 0 < len(call.path) <= most.get(call.path[0], 0)


def _portions(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Calls in their order, as many at a time as one frame takes."""
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
