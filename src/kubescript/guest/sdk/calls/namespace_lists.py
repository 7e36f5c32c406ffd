"""Provides `NamespaceLists`: where a script is limited to some namespaces, a list over all is answered by one list for
each of them, joined into one. session.py makes its calls through it.

The host refuses the list over all namespaces, and judges each of these lists like any other call: nothing here protects
anything. A page is never cut: `limit` is not passed on, and there is no token for a next page.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, TypeVar

import msgspec

from kubescript.guest.sdk.calls import batching, transport
from kubescript.guest.sdk.values import exceptions
from kubescript.kube import kinds, namespace_patterns, paths
from kubescript.wire.exchanges import Call, Reply
from kubescript_sandbox.guest import faults
from kubescript_sandbox.wire import protocol

__all__ = ["NamespaceLists"]

_NOTHING: Final = b'{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}'
_FOUND: Final = Reply(200, "OK", "application/json")
_Shape = TypeVar("_Shape", bound=msgspec.Struct)
_BROKEN: Final = protocol.ScriptFault("cluster.broken", "the answer is no list")


class _Page(msgspec.Struct, rename="camel"):
    """The list of one namespace, or its Table."""

    kind: str
    api_version: str
    # msgspec cannot decode Raw in a union, so None is not possible.
    column_definitions: msgspec.Raw = msgspec.Raw()
    items: list[msgspec.Raw] | None = None
    rows: list[msgspec.Raw] | None = None


class _Metadata(msgspec.Struct):
    name: str


class _Named(msgspec.Struct):
    metadata: _Metadata


class _Namespaces(msgspec.Struct):
    items: list[_Named] | None


class _Resource(msgspec.Struct):
    name: str
    namespaced: bool


class _Resources(msgspec.Struct):
    resources: list[_Resource]


class _Failure(Exception):
    """A call failed whose answer is then that of the script's own call."""

    def __init__(self, exchange: transport.Exchange) -> None:
        super().__init__()
        self.exchange = exchange


class NamespaceLists:
    """The lists over all namespaces of one script, which is limited to namespaces that match `patterns`."""

    def __init__(self, relay: batching.Relay, patterns: tuple[str, ...]) -> None:
        self._relay = relay
        self._patterns = patterns
        self.has_joined = False
        """Whether the script was given a list over all namespaces."""
        self._names: dict[str, list[str]] = {}
        """Context → the permitted namespaces, in order."""
        self._namespaced: dict[tuple[str, str, str], frozenset[str]] = {}
        """Context, group and version → the resources of that version that are in namespaces."""

    def call(self, call: Call) -> transport.Exchange:
        """Makes a call, or the lists that answer it."""
        try:
            if not self._is_over_all(call):
                return self._relay.call(call)
            names = self._list_namespaces(call.context)
            return self._call_each(call, names)
        except _Failure as failure:
            return failure.exchange
        except faults.ProtocolFault as broken:
            return transport.Answer(Reply(0, fault=broken.fault), iter(()))

    def _is_over_all(self, call: Call) -> bool:
        """Says whether a call lists objects of all namespaces."""
        place = paths.locate(call.path)
        if call.method != "GET" or place is None or place.namespace or place.name:
            return False
        # A watch cannot be joined, and a token belongs to a list that was not made here: the host says what to do.
        query = dict(call.query)
        if "continue" in query or query.get("watch") in {"true", "1"}:
            return False
        if place.group in kinds.BUILT_IN:
            return (place.group, place.resource) in kinds.NAMESPACED
        return place.resource in self._list_namespaced(call.context, place.group, place.version)

    def _list_namespaced(self, context: str, group: str, version: str) -> frozenset[str]:
        """Returns the resources of a custom group that are in namespaces; none if the cluster does not say."""
        key = context, group, version
        if key not in self._namespaced:
            exchange = self._relay.call(Call("GET", paths.root(group, version), context=context))
            body = b"".join(exchange.chunks())
            if _has_failed(exchange):
                return frozenset()
            found = _decode(body, _Resources).resources
            self._namespaced[key] = frozenset(each.name for each in found if each.namespaced)
        return self._namespaced[key]

    def _list_namespaces(self, context: str) -> list[str]:
        """Returns the permitted namespaces, in order. Raises _Failure."""
        if all(map(namespace_patterns.is_literal, self._patterns)):
            return sorted(set(self._patterns))
        if context not in self._names:
            # The host leaves out of the answer all namespaces that do not match.
            exchange = self._relay.call(Call("GET", ("api", "v1", "namespaces"), accept="names", context=context))
            if _has_failed(exchange):
                raise _Failure(exchange)
            found = _decode(b"".join(exchange.chunks()), _Namespaces).items or ()
            self._names[context] = sorted(each.metadata.name for each in found)
        return self._names[context]

    def _call_each(self, call: Call, names: list[str]) -> transport.Exchange:
        """Makes one list for each namespace, eight at a time, and returns all objects. Raises _Failure."""
        self.has_joined = True
        if not names:
            return transport.Answer(_FOUND, iter([_NOTHING]))
        exchanges = self._relay.call_all([_within(call, name) for name in names])
        first = next(exchanges)
        if _has_failed(first):
            exchanges.close()
            raise _Failure(first)
        body = _join(first, exchanges, "/".join(call.path))

        def stop() -> None:
            body.close()
            first.stop()
            exchanges.close()

        return transport.Answer(first.reply, body, stop)


def _within(call: Call, namespace: str) -> Call:
    """Returns the list of one namespace."""
    place = paths.locate(call.path)
    assert place is not None
    path = paths.join(place.group, place.version, place.resource, namespace)
    query = tuple(pair for pair in call.query if pair[0] != "limit")
    return msgspec.structs.replace(call, path=path, query=query, stream=False)


def _join(first: transport.Exchange, others: Iterator[transport.Exchange], path: str) -> Generator[bytes]:
    """Yields the objects of all lists as one list, one list at a time. Raises ApiException or ProtocolFault for a list
    that failed or broke off."""
    page = _read(first)
    yield _write_opening(page)
    is_first = True
    while True:
        objects = page.items or page.rows or []
        if objects:
            yield (b"" if is_first else b",") + b",".join(map(bytes, objects))
            is_first = False
        exchange = next(others, None)
        if exchange is None:
            break
        _check(exchange, path)
        page = _read(exchange)
    yield b"]}"


def _write_opening(page: _Page) -> bytes:
    """Returns the beginning of the joined list, up to its objects."""
    head: dict[str, object] = {"kind": page.kind, "apiVersion": page.api_version, "metadata": {}}
    key = "items"
    if page.kind == "Table":
        head["columnDefinitions"] = page.column_definitions
        key = "rows"
    # The closing brace is left out, so that the objects can follow.
    return msgspec.json.encode(head)[:-1] + f',"{key}":['.encode()


def _read(exchange: transport.Exchange) -> _Page:
    """Returns the list of one namespace. Raises ProtocolFault."""
    return _decode(b"".join(exchange.chunks()), _Page)


def _decode(body: bytes, shape: type[_Shape]) -> _Shape:
    """Returns the fields of an answer. Raises ProtocolFault when it has another shape."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.MsgspecError:
        raise faults.ProtocolFault(_BROKEN) from None


def _has_failed(exchange: transport.Exchange) -> bool:
    """Says whether a call was refused, or answered with an error."""
    return exchange.reply.fault is not None or exchange.reply.status >= 400


def _check(exchange: transport.Exchange, path: str) -> None:
    """Raises ApiException or ProtocolFault if a call failed."""
    reply = exchange.reply
    if reply.fault is not None:
        raise faults.ProtocolFault(reply.fault)
    if reply.status >= 400:
        body = b"".join(exchange.chunks())
        raise exceptions.from_answer(reply.status, reply.reason, body, reply.headers, f"GET /{path}")
