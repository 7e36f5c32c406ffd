"""Whole answers and whole lists, read through a broker like a script would: what `capture` asks a cluster with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript import errors, types
from kubescript.broker import broker, records, summary
from kubescript.wire import protocol

__all__ = ["NO_LIST", "SMALL_S", "Client", "ReadFailed", "fields"]

_PAGE: Final = 500
"""Objects per page: bounds memory; the pages of one list show one moment."""
_CALL_S: Final = 120.0
SMALL_S: Final = 15.0
"""For discovery and for one log: a cluster or a kubelet that is silent must not hold up the rest."""
NO_LIST: Final = "the answer was not a list"


class _Page(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[msgspec.Raw] | None = None


class ReadFailed(Exception):
    """One call got no usable answer; its text says why."""

    def __init__(self, why: str, *, unreachable: bool = False) -> None:
        super().__init__(why)
        self.unreachable = unreachable
        """Whether whoever should have answered seems not to be there."""


class Client:
    """Makes GETs through one broker."""

    def __init__(self, broker_: broker.Broker, journal: records.Journal | None) -> None:
        self._broker = broker_
        self._journal = records.NOWHERE if journal is None else journal

    def get(
        self,
        path: tuple[str, ...],
        query: tuple[tuple[str, str], ...] = (),
        accept: protocol.Accept = "json",
        timeout_s: float = _CALL_S,
    ) -> bytes:
        """The whole body of one GET. Raises ReadFailed."""
        call = protocol.Call("GET", path, query, accept=accept)
        reply, response = self._broker.handle(call, summary.Summary(journal=self._journal), timeout_s)
        if reply.fault is not None or response is None:
            unreachable = reply.fault is None or reply.fault.code == "cluster.timeout"
            raise ReadFailed(reply.fault.message if reply.fault else "no answer", unreachable=unreachable)
        with contextlib.closing(response):
            return _read(response)

    def is_missing_namespace(self, namespace: str) -> bool:
        """Whether the cluster says that there is no such namespace; not, when it does not tell."""
        call = protocol.Call("GET", ("api", "v1", "namespaces", namespace))
        _, response = self._broker.handle(call, summary.Summary(journal=self._journal), SMALL_S)
        if response is None:
            return False
        with contextlib.closing(response):
            return response.status == 404

    def items(self, group: str, version: str, plural: str, namespace: str | None) -> Iterator[msgspec.Raw]:
        """Every object of a list, page after page. Raises ReadFailed."""
        base = ("apis", group, version) if group else ("api", version)
        path = (*base, "namespaces", namespace, plural) if namespace is not None else (*base, plural)
        token = ""
        while True:
            query = (("limit", str(_PAGE)), *((("continue", token),) if token else ()))
            try:
                page = msgspec.json.decode(self.get(path, query), type=_Page)
            except msgspec.MsgspecError:
                raise ReadFailed(NO_LIST) from None
            yield from page.items or ()
            token = page.metadata.get("continue") or ""
            if not token:
                return


def _read(response: types.Response) -> bytes:
    try:
        body = b"".join(response.chunks)
    except errors.KubescriptError as error:
        raise ReadFailed(error.message, unreachable=error.code == "cluster.timeout") from None
    if response.status == 200:
        return body
    if response.status == 204:
        raise ReadFailed("there is nothing yet")
    message = ""
    with contextlib.suppress(msgspec.MsgspecError):
        message = str(msgspec.json.decode(body, type=dict[str, Any]).get("message", ""))[:300]
    raise ReadFailed(f"{response.status} {response.reason}: {message}".rstrip(": "), unreachable=response.status >= 500)


def fields(document: bytes) -> dict[str, Any]:
    """A discovery document. Raises ReadFailed when it is none: a login page, say."""
    try:
        return msgspec.json.decode(document, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise ReadFailed("the answer is no JSON object; is `server` in the kubeconfig an API server?") from None
