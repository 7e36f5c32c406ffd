"""One script's calls to one cluster: a session makes a call, turns faults into exceptions and bodies into views.

List bodies are read while the script loops over them. Answers come one after the other, so the next call first settles
the open list: what the script may still want is read to its end, what it has dropped is stopped.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, Self

import msgspec

from kubescript.wire.protocol import Call, Reply
from kubescript.worker.sdk import batching, errors, lazy_json, lists, name_hints, schemas, streaming, transport, views

__all__ = ["Session"]

MAX_ERROR_BODY: Final = 64 * 1024
"""Bytes of an error's body that are kept."""
MAX_NAMES: Final = 500
"""Names that are listed for the hint in an error: one page."""


class Session:
    """What every client object holds. `lazy=False` reads list bodies completely before a call returns."""

    def __init__(self, transport: transport.Transport, *, lazy: bool = True) -> None:
        self.relay = transport if isinstance(transport, batching.Relay) else batching.Relay(transport)
        """Where calls go."""
        self._lazy = lazy
        self._name_hints = name_hints.NameHints(self._list_names)
        self.context = ""
        """Which cluster its calls are for; "" is the default one."""
        self.deadline = math.inf
        """When the host ends the script, by the monotonic clock."""

    @property
    def seconds_left(self) -> float:
        """Until the host ends the script."""
        return self.deadline - time.monotonic()

    def beside(self, context: str) -> Self:
        """The same way to the host, for the calls to another cluster."""
        other = copy.copy(self)
        other.context = context
        other._name_hints = name_hints.NameHints(other._list_names)
        return other

    def settle(self) -> None:
        """Read the list that is still arriving, if any, to its end, so that the wire is free; one that the script can
        no longer reach is stopped."""
        self.relay.settle()

    def fetch(self, call: Call, shape: schemas.Shape) -> tuple[Any, Reply]:
        """One value: an object as a view, or whatever other JSON the answer is."""
        exchange, chunks = self._start(call)
        reply, body = exchange.reply, b"".join(chunks)
        if not body.strip():
            return None, reply
        try:
            value = lazy_json.open_map(body) if body.lstrip()[:1] == b"{" else lazy_json.decode_all(body)
        except msgspec.DecodeError:
            return body.decode("utf-8", "replace"), reply
        if "items" in value and isinstance(value, dict) and value.get("kind") is not None and shape is schemas.OBJECT:
            return self._listing(iter([body]), shape, "", call, exchange.stop), reply
        return views.wrap(value, shape), reply

    def fetch_list(self, call: Call, shape: schemas.Shape, name: str) -> tuple[lists.ListObject, Reply]:
        """A list; `shape` is that of an item."""
        exchange, chunks = self._start(call)
        return self._listing(chunks, shape, name, call, exchange.stop), exchange.reply

    def fetch_text(self, call: Call) -> tuple[str, Reply]:
        """Text, such as a log."""
        exchange, chunks = self._start(call)
        return b"".join(chunks).decode("utf-8", "replace"), exchange.reply

    def _list_names(self, path: tuple[str, ...]) -> list[str]:
        """The names of a collection's objects, the first page of them."""
        call = Call("GET", path, (("limit", str(MAX_NAMES)),), accept="metadata")
        found, _ = self.fetch_list(call, schemas.OBJECT, "")
        return [each["metadata"]["name"] for each in found]

    def lines(self, call: Call) -> Iterator[bytes]:
        """The body's lines as they arrive. What is left when the caller stops early is not sent."""
        exchange, chunks = self._start(msgspec.structs.replace(call, stream=True))
        pending = b""
        try:
            for chunk in chunks:
                *complete, pending = (pending + chunk).split(b"\n")
                yield from complete
            if pending:
                yield pending
        finally:
            exchange.stop()

    def _listing(
        self, chunks: Iterator[bytes], shape: schemas.Shape, name: str, call: Call, stop: Callable[[], None]
    ) -> lists.ListObject:
        def broken(error: Exception) -> Exception:
            return errors.ApiException(
                0, "the answer is no JSON list", message=str(error), code="cluster.broken", call=self._title(call)
            )

        arrival = streaming.Arrival(chunks, broken, stop)
        found = lists.ListObject(arrival, shape, name, arrival.keep())
        if self._lazy:
            self.relay.arriving = arrival
        else:
            arrival.drain()
        return found

    def _start(self, call: Call) -> tuple[transport.Exchange, Iterator[bytes]]:
        """Make the call. Raises for a fault and for a status of 400 and above."""
        self.settle()
        exchange = self.relay.call(msgspec.structs.replace(call, context=self.context) if self.context else call)
        title = self._title(call)
        reply, chunks = exchange.reply, _guarded(exchange.chunks(), title)
        if reply.fault is not None:
            for _ in chunks:
                pass
            raise errors.from_fault(reply.fault, reply.status, title)
        if reply.status >= 400:
            error = errors.from_answer(reply.status, reply.reason, _head(chunks), reply.headers, title)
            raise self._name_hints.advise(error, call)
        return exchange, chunks

    def _title(self, call: Call) -> str:
        """A call in few words, for errors."""
        where = f"{self.context}: " if self.context else ""
        return f"{where}{call.method} /{'/'.join(call.path)}"


def _guarded(chunks: Iterator[bytes], title: str) -> Iterator[bytes]:
    """The chunks; a body that breaks off raises what the script knows."""
    try:
        yield from chunks
    except transport.ProtocolFault as broken:
        raise errors.from_fault(broken.fault, 0, title) from None


def _head(chunks: Iterator[bytes]) -> bytes:
    """The first bytes of a body that is read to its end."""
    kept = b""
    for chunk in chunks:
        if len(kept) < MAX_ERROR_BODY:
            kept += chunk[: MAX_ERROR_BODY - len(kept)]
    return kept
