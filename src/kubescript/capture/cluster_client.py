"""A client that reads whole answers and whole lists through a broker, as a script reads them. `capture` and
`container_logs` use it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from kubescript import errors, types
from kubescript.broker import broker, operation, records
from kubescript.cluster import bodies
from kubescript.kube import paths
from kubescript.snapshot import collection
from kubescript.wire import exchanges

__all__ = ["NO_LIST", "SMALL_S", "Client", "ReadFailed", "decode"]

# Objects per page. Pages limit memory, and all pages of one list show the cluster at the same moment.
_PAGE: Final = 500
_CALL_S: Final = 120.0
"""Seconds for one page of a list."""
# Seconds for a discovery document, or for one log: a silent cluster or kubelet must not delay the rest.
SMALL_S: Final = 15.0
# The maximum size of one answer in bytes. Attack: a server sends an endless body, which would be held in memory.
_MAX_BODY: Final = 256 << 20
NO_LIST: Final = "the answer was not a list"
_ENDLESS: Final = "its pages do not end"
Handle = Callable[[exchanges.Call, operation.Operation, float], broker.Answer]
"""Answers one call; see `broker.Broker.handle`."""
_Shape = TypeVar("_Shape")


class _PageMetadata(msgspec.Struct):
    next: str = msgspec.field(default="", name="continue")


class _Page(msgspec.Struct):
    metadata: _PageMetadata
    items: list[msgspec.Raw] | None = None


class ReadFailed(Exception):
    """An error for a call without a usable answer; its text gives the reason."""

    def __init__(self, why: str, *, unreachable: bool = False) -> None:
        super().__init__(why)
        self.unreachable = unreachable
        """Whether the server that should have answered seems unreachable."""


class Client:
    """A client that sends GET requests through one broker, or one door to sources."""

    def __init__(self, handle: Handle, journal: records.Journal | None) -> None:
        self._handle = handle
        if journal is None:
            journal = records.NOWHERE
        self._journal = journal
        self.metadata_rule = ""
        """The rule by which the last answer contained only metadata; empty when its objects were complete."""

    def get(
        self,
        path: tuple[str, ...],
        query: tuple[tuple[str, str], ...] = (),
        accept: exchanges.Accept = "json",
        timeout_s: float = _CALL_S,
    ) -> bytes:
        """Returns the whole body of one GET. Raises ReadFailed."""
        call = exchanges.Call("GET", path, query, accept=accept)
        own = operation.Operation(journal=self._journal)
        reply, response = self._handle(call, own, timeout_s)
        self.metadata_rule = reply.metadata_rule
        fault = reply.fault
        if fault is not None:
            raise ReadFailed(fault.message, unreachable=fault.code == "cluster.timeout")
        if response is None:
            raise ReadFailed("no answer", unreachable=True)
        with contextlib.closing(response):
            return _read(response, reply.reason)

    def is_missing_namespace(self, namespace: str) -> bool:
        """Says whether the cluster has no such namespace; False if the cluster does not answer."""
        # RBAC may forbid reading a namespace that exists: only a 404 says that there is none.
        path = ("api", "v1", "namespaces", namespace)
        call = exchanges.Call("GET", path)
        own = operation.Operation(journal=self._journal)
        _, response = self._handle(call, own, SMALL_S)
        if response is None:
            return False
        with contextlib.closing(response):
            return response.status == 404

    def items(self, group: str, version: str, plural: str, namespace: str | None) -> Iterator[msgspec.Raw]:
        """Yields every object of a list, page after page. Raises ReadFailed."""
        path = paths.join(group, version, plural, namespace)
        first: tuple[tuple[str, str], ...] = (("limit", str(_PAGE)),)
        query = first
        token = ""
        room = collection.MAX_BYTES  # the limit of one file in a snapshot
        while True:
            body = self.get(path, query)
            try:
                page = msgspec.json.decode(body, type=_Page)
            except msgspec.MsgspecError:
                raise ReadFailed(NO_LIST) from None
            yield from page.items or ()
            next_token = page.metadata.next
            if not next_token:
                return
            # Attack: a server sends endless pages, each of which names a next one.
            room -= len(body)
            if next_token == token or not page.items or room < 0:
                raise ReadFailed(_ENDLESS)
            token = next_token
            query = (*first, ("continue", token))


def _read(response: types.Response, reason: str) -> bytes:
    """Returns the body of an answer with 200. Raises ReadFailed with the server's message for any other status."""
    try:
        body = bodies.read_whole(response.chunks, _MAX_BODY, _refuse_size())
    except errors.KubescriptError as error:
        raise ReadFailed(error.message, unreachable=error.code == "cluster.timeout") from None
    if response.status == 200:
        return body
    if response.status == 204:
        raise ReadFailed("there is nothing yet")
    message = ""
    with contextlib.suppress(msgspec.MsgspecError):
        status = msgspec.json.decode(body, type=dict[str, Any])
        # Sources write `error`.
        message = str(status.get("message") or status.get("error") or "")[:300]
    why = f"{response.status} {reason}: {message}"
    is_unreachable = response.status >= 500
    raise ReadFailed(why.rstrip(": "), unreachable=is_unreachable)


def _refuse_size() -> errors.ClusterError:
    return errors.ClusterError(f"the answer has more than {_MAX_BODY >> 20} MiB", code="cluster.too_large")


def decode(document: bytes, shape: type[_Shape]) -> _Shape:
    """Decodes a discovery document. Raises ReadFailed for any other document, such as a login page."""
    try:
        return msgspec.json.decode(document, type=shape)
    except (msgspec.MsgspecError, RecursionError):
        raise ReadFailed(
            "the answer is not a discovery document; is `server` in the kubeconfig an API server?"
        ) from None
