"""One script's conversation with the API server: makes a call, turns faults into exceptions and bodies into views.

List bodies are read while the script loops over them. The wire is strictly one call after the other, so whatever else
is to be sent (the next call; in the worker also a print or the script's end) first calls `settle()`, which reads the
open list to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript.sandbox.protocol import Call, Reply
from kubescript.sdk import errors, lists, objects, raw, shapes, transport

__all__ = ["Session"]

MAX_ERROR_BODY: Final = 64 * 1024
"""Bytes of an error's body that are kept."""


class Session:
    """What every client object holds. `lazy=False` reads list bodies completely before a call returns."""

    def __init__(self, transport: transport.Transport, *, lazy: bool = True) -> None:
        self._transport = transport
        self._lazy = lazy
        self._open: lists.Arrival | None = None

    def settle(self) -> None:
        """Read the list that is still arriving, if any, to its end, so that the wire is free."""
        arriving, self._open = self._open, None
        if arriving is not None:
            arriving.drain()

    def fetch(self, call: Call, shape: shapes.Shape) -> tuple[Any, Reply]:
        """One value: an object as a view, or whatever other JSON the answer is."""
        reply, chunks = self._start(call)
        body = b"".join(chunks)
        if not body.strip():
            return None, reply
        try:
            value = raw.open_map(body) if body.lstrip()[:1] == b"{" else raw.decode_all(body)
        except msgspec.DecodeError:
            return body.decode("utf-8", "replace"), reply
        if "items" in value and isinstance(value, dict) and value.get("kind") is not None and shape is shapes.OBJECT:
            return self._listing(iter([body]), shape, "", call), reply
        return objects.wrap(value, shape), reply

    def fetch_list(self, call: Call, shape: shapes.Shape, name: str) -> tuple[lists.ListObject, Reply]:
        """A list; `shape` is that of an item."""
        reply, chunks = self._start(call)
        return self._listing(chunks, shape, name, call), reply

    def fetch_text(self, call: Call) -> tuple[str, Reply]:
        """Text, such as a log."""
        reply, chunks = self._start(call)
        return b"".join(chunks).decode("utf-8", "replace"), reply

    def lines(self, call: Call) -> Iterator[bytes]:
        """The body's lines. The rest of the body is read and dropped when the caller stops early."""
        _, chunks = self._start(call)
        pending = b""
        try:
            for chunk in chunks:
                *complete, pending = (pending + chunk).split(b"\n")
                yield from complete
            if pending:
                yield pending
        finally:
            for _ in chunks:
                pass

    def _listing(self, chunks: Iterator[bytes], shape: shapes.Shape, name: str, call: Call) -> lists.ListObject:
        def broken(error: Exception) -> Exception:
            return errors.ApiException(
                0, "the answer is no JSON list", message=str(error), code="cluster.broken", call=_title(call)
            )

        arrival = lists.Arrival(chunks, broken)
        if self._lazy:
            self._open = arrival
        else:
            arrival.drain()
        return lists.ListObject(arrival, shape, name)

    def _start(self, call: Call) -> tuple[Reply, Iterator[bytes]]:
        """Make the call. Raises for a fault and for a status of 400 and above."""
        self.settle()
        exchange = self._transport.call(call)
        reply, chunks = exchange.reply, _guarded(exchange.chunks(), call)
        if reply.fault is not None:
            for _ in chunks:
                pass
            raise errors.from_fault(reply.fault, reply.status, _title(call))
        if reply.status >= 400:
            raise errors.from_answer(reply.status, reply.reason, _head(chunks), reply.headers, _title(call))
        return reply, chunks


def _guarded(chunks: Iterator[bytes], call: Call) -> Iterator[bytes]:
    """The chunks; a body that breaks off raises what the script knows."""
    try:
        yield from chunks
    except transport.ProtocolFault as broken:
        raise errors.from_fault(broken.fault, 0, _title(call)) from None


def _head(chunks: Iterator[bytes]) -> bytes:
    """The first bytes of a body that is read to its end."""
    kept = b""
    for chunk in chunks:
        if len(kept) < MAX_ERROR_BODY:
            kept += chunk[: MAX_ERROR_BODY - len(kept)]
    return kept


def _title(call: Call) -> str:
    """A call in few words, for errors."""
    return f"{call.method} /{'/'.join(call.path)}"
