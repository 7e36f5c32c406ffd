"""Provides `Session`, one script's calls to one cluster: it makes calls, and turns faults into exceptions and bodies
into views. Every client object holds a session.

A list's body is read while the script loops over it. The next call first settles this list: the body is read to its end
when the script can still reach the list, and stopped otherwise.

Planned writes are recorded in an overlay, and later reads are answered from it (overlay.py).
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Self

import msgspec

from kubescript.guest.sdk.calls import batching, kubectl_command, name_hints, namespace_lists, overlay, transport
from kubescript.guest.sdk.objects import list_objects, schemas, streaming, views
from kubescript.guest.sdk.values import exceptions, lazy_json, masks
from kubescript.wire.exchanges import Call, Reply
from kubescript_sandbox.guest import faults
from kubescript_sandbox.wire import protocol

__all__ = ["Session", "restrict_shape"]

MAX_ERROR_BODY: Final = 64 * 1024
"""How many bytes of an error's body are kept."""
MAX_NAMES: Final = 500
"""How many names are listed for the hint in an error: one page."""


class Session:
    """Calls to one cluster. With `lazy=False`, a list's body is read completely before the call returns."""

    def __init__(self, transport: transport.Transport, *, lazy: bool = True) -> None:
        self.relay = transport if isinstance(transport, batching.Relay) else batching.Relay(transport)
        """Where calls go."""
        self._lazy = lazy
        self._name_hints = name_hints.NameHints(self._list_names)
        self.context = ""
        """The context of the cluster that the session calls; "" is the default one."""
        self.planned = False
        """Whether the last write was only tried and recorded in a plan."""
        self._overlay: overlay.Overlay | None = None
        """The planned writes; None before the first."""
        self.limited: namespace_lists.NamespaceLists | None = None
        """The lists over all namespaces, where the script may see only some of them."""
        self.deadline = math.inf
        """The time at which the host ends the script, on the monotonic clock."""
        self.report: Callable[[float, float | None, str], None] = lambda _done, _total, _text: None
        """Reports progress to the client, as `ctx.progress` does."""
        self.tell: Callable[[str], None] = lambda _text: None
        """Adds a line to what the script prints."""
        self.sources: Mapping[str, str] = {}
        """The kinds of the sources that the script may ask, by name."""

    @property
    def seconds_left(self) -> float:
        """Seconds until the host ends the script."""
        return self.deadline - time.monotonic()

    def beside(self, context: str) -> Self:
        """Returns a session for another cluster that uses the same relay."""
        other = copy.copy(self)
        other.context = context
        # Plans and known names belong to a single cluster.
        other.planned = False
        other._overlay = None
        other._name_hints = name_hints.NameHints(other._list_names)
        return other

    def settle(self) -> None:
        """Reads the list that is still arriving to its end, or stops it when the script can no longer reach it."""
        # Answers arrive one after another, so the wire must be free before the next call.
        self.relay.settle()

    def fetch(self, call: Call, shape: schemas.Shape) -> tuple[Any, Reply]:
        """Makes a call. Returns an object as a view, or any other JSON value."""
        exchange, chunks = self._start(call)
        reply = exchange.reply
        body = b"".join(chunks)
        own = restrict_shape(shape, reply)
        if not body.strip():
            return None, reply
        try:
            value = lazy_json.open_map(body) if body.lstrip()[:1] == b"{" else lazy_json.decode_all(body)
        except msgspec.DecodeError:
            text = body.decode("utf-8", "replace")
            return masks.note(text), reply
        # Without a model, only the answer itself shows whether it is a list.
        if "items" in value and isinstance(value, dict) and value.get("kind") is not None and shape is schemas.OBJECT:
            found = self._listing(iter([body]), own, "", call, exchange.stop)
            return found, reply
        return views.wrap(value, own), reply

    def fetch_list(self, call: Call, shape: schemas.Shape, name: str) -> tuple[list_objects.ListObject, Reply]:
        """Makes a call whose answer is a list; `shape` is the shape of an item."""
        exchange, chunks = self._start(call)
        reply = exchange.reply
        own = restrict_shape(shape, reply)
        found = self._listing(chunks, own, name, call, exchange.stop)
        return found, reply

    def fetch_text(self, call: Call) -> tuple[str, Reply]:
        """Makes a call whose answer is text, such as a log."""
        exchange, chunks = self._start(call)
        body = b"".join(chunks)
        text = body.decode("utf-8", "replace")
        return masks.note(text), exchange.reply

    def fetch_from_source(self, call: Call, title: str) -> tuple[Reply, bytearray]:
        """Makes a call to a source beside the API server. Returns the body of a failure too; raises an exception for a
        fault."""
        self.settle()
        exchange = self.relay.call(msgspec.structs.replace(call, context=self.context))
        reply = exchange.reply
        body = bytearray()
        for chunk in _guard_chunks(exchange.chunks(), title):
            body += chunk  # to join all chunks at the end takes twice the memory, and new pages cost time
        if reply.fault is not None:
            raise exceptions.from_fault(reply.fault, reply.status, title)
        return reply, body

    def _list_names(self, path: tuple[str, ...]) -> list[str]:
        """Returns the names on the first page of a collection."""
        limit = ("limit", str(MAX_NAMES))
        call = Call("GET", path, (limit,), accept="names")
        found, _ = self.fetch_list(call, schemas.OBJECT, "")
        return [each["metadata"]["name"] for each in found]

    def lines(self, call: Call) -> Iterator[bytes]:
        """Yields the body's lines as they arrive. If the caller stops early, the rest of the body is stopped too."""
        lines, _ = self.stream(call)
        yield from lines

    def stream(self, call: Call) -> tuple[Iterator[bytes], Reply]:
        """Makes a call whose lines are read as they arrive."""
        streamed = msgspec.structs.replace(call, stream=True)
        exchange, chunks = self._start(streamed)
        lines = self._lines(exchange, chunks)
        return lines, exchange.reply

    @staticmethod
    def _lines(exchange: transport.Exchange, chunks: Iterator[bytes]) -> Iterator[bytes]:
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
    ) -> list_objects.ListObject:
        def broken(error: Exception) -> Exception:
            return exceptions.ApiException(
                0, "the answer is not a JSON list", message=str(error), code="cluster.broken", call=self._title(call)
            )

        arrival = streaming.Arrival(chunks, broken, stop)
        found = list_objects.ListObject(arrival, shape, name, arrival.keep())
        if self._overlay is not None and self._overlay.concerns(call):
            arrival.drain()
            reduced = call.accept in overlay.METADATA or bool(shape.metadata_rule)
            self._overlay.merge(call, arrival.head, arrival.items, metadata_only=reduced)
        elif self._lazy:
            self.relay.arriving = arrival
        else:
            arrival.drain()
        return found

    def _start(self, call: Call) -> tuple[transport.Exchange, Iterator[bytes]]:
        """Makes the call. Raises an exception for a fault and for a status of 400 and above."""
        self.settle()
        if self.context:
            call = msgspec.structs.replace(call, context=self.context)
        perform = self.relay.call if self.limited is None else self.limited.call
        exchange = perform(call) if self._overlay is None else self._overlay.answer(call, perform)
        title = self._title(call)
        reply = exchange.reply
        chunks = _guard_chunks(exchange.chunks(), title)
        if call.method != "GET":
            self.planned = reply.planned
        if reply.fault is not None:
            # The body is read to its end, so that the wire is free for the next call.
            for _ in chunks:
                pass
            raise _refuse(call, reply.fault, reply.status, title)
        if reply.status >= 400:
            body = _head(chunks)
            error = exceptions.from_answer(reply.status, reply.reason, body, reply.headers, title)
            raise self._advise(error, call)
        if reply.planned:
            shown = self._record(call, reply, b"".join(chunks))
            chunks = iter([shown])
        return exchange, chunks

    def _advise(self, error: exceptions.ApiException, call: Call) -> exceptions.ApiException:
        """Returns the error, with a hint if there is one."""
        advice = ""
        if self._overlay is not None:
            advice = self._overlay.advice(call, error.status)
        if advice:
            error._advice = lambda: advice
            return error
        return self._name_hints.advise(error, call)

    def _record(self, call: Call, reply: Reply, body: bytes) -> bytes:
        """Records the answer to a planned write; returns it as the script gets it."""
        if self._overlay is None:
            self._overlay = overlay.Overlay()
        return self._overlay.record(call, reply, body, self._read_live)

    def _read_live(self, path: tuple[str, ...]) -> bytes | None:
        """Returns an object from the cluster, without the plan's changes; None when it cannot be read."""
        call = Call("GET", path, context=self.context)
        exchange = self.relay.call(call)
        chunks = _guard_chunks(exchange.chunks(), self._title(call))
        # The body of a failure is read too, so that the wire is free for the next call.
        body = b"".join(chunks)
        reply = exchange.reply
        if reply.fault is not None or reply.status != 200:
            return None
        return body

    def _title(self, call: Call) -> str:
        """Returns a call in a few words, for errors."""
        where = f"{self.context}: " if self.context else ""
        path = "/".join(call.path)
        return f"{where}{call.method} /{path}"


def restrict_shape(shape: schemas.Shape, reply: Reply) -> schemas.Shape:
    """Returns the shape of an answer's objects, without the fields that the policy withholds."""
    if not reply.metadata_rule:
        return shape
    return schemas.metadata_only(shape, reply.metadata_rule)


def _refuse(call: Call, fault: protocol.ScriptFault, status: int, title: str) -> Exception:
    """Returns the exception for a call that kubescript has refused or could not make, with the kubectl command for a
    write that a person can make."""
    error = exceptions.from_fault(fault, status, title)
    if isinstance(error, exceptions.ApiException) and kubectl_command.is_asked(call, fault):
        error._advice = lambda: kubectl_command.compose(call)
    return error


def _guard_chunks(chunks: Iterator[bytes], title: str) -> Iterator[bytes]:
    """Yields the chunks; for a body that breaks off, raises one of the exceptions in exceptions.py."""
    try:
        yield from chunks
    except faults.ProtocolFault as broken:
        raise exceptions.from_fault(broken.fault, 0, title) from None


def _head(chunks: Iterator[bytes]) -> bytes:
    """Reads a body to its end and returns its first bytes."""
    # The rest is read too, so that the wire is free for the next call.
    kept = b""
    for chunk in chunks:
        if len(kept) < MAX_ERROR_BODY:
            kept += chunk[: MAX_ERROR_BODY - len(kept)]
    return kept
