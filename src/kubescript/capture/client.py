"""Whole answers and whole lists, read through a broker like a script would: what `capture` asks a cluster with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript import errors, types
from kubescript.broker import broker, records, summary
from kubescript.wire import protocol

__all__ = ["NO_LIST", "SMALL_S", "Reader", "Refused", "fields"]

_PAGE: Final = 500
"""Objects per page: bounds memory; the pages of one list show one moment."""
_CALL_S: Final = 120.0
SMALL_S: Final = 15.0
"""For discovery and for one log: a cluster or a kubelet that is silent must not hold up the rest."""
NO_LIST: Final = "the answer was not a list"


class _Page(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[msgspec.Raw] | None = None


class Refused(Exception):
    """One call got no usable answer; its text says why."""

    def __init__(self, why: str, *, gone: bool = False) -> None:
        super().__init__(why)
        self.gone = gone
        """Whether whoever should have answered seems not to be there."""


class Reader:
    """Makes GETs through one broker."""

    def __init__(self, door: broker.Broker, journal: records.Journal | None) -> None:
        self._door = door
        self._journal = records.NOWHERE if journal is None else journal

    def get(
        self,
        path: tuple[str, ...],
        query: tuple[tuple[str, str], ...] = (),
        accept: protocol.Accept = "json",
        timeout_s: float = _CALL_S,
    ) -> bytes:
        """The whole body of one GET. Raises Refused."""
        call = protocol.Call("GET", path, query, accept=accept)
        reply, response = self._door.handle(call, summary.Summary(journal=self._journal), timeout_s)
        if reply.fault is not None or response is None:
            gone = reply.fault is None or reply.fault.code == "cluster.timeout"
            raise Refused(reply.fault.message if reply.fault else "no answer", gone=gone)
        with contextlib.closing(response):
            return _read(response)

    def lacks(self, namespace: str) -> bool:
        """Whether the cluster says that there is no such namespace; not, when it does not tell."""
        call = protocol.Call("GET", ("api", "v1", "namespaces", namespace))
        _, response = self._door.handle(call, summary.Summary(journal=self._journal), SMALL_S)
        if response is None:
            return False
        with contextlib.closing(response):
            return response.status == 404

    def items(self, group: str, version: str, plural: str, namespace: str | None) -> Iterator[msgspec.Raw]:
        """Every object of a list, page after page. Raises Refused."""
        base = ("apis", group, version) if group else ("api", version)
        path = (*base, "namespaces", namespace, plural) if namespace is not None else (*base, plural)
        token = ""
        while True:
            query = (("limit", str(_PAGE)), *((("continue", token),) if token else ()))
            try:
                page = msgspec.json.decode(self.get(path, query), type=_Page)
            except msgspec.MsgspecError:
                raise Refused(NO_LIST) from None
            yield from page.items or ()
            token = page.metadata.get("continue") or ""
            if not token:
                return


def _read(response: types.Response) -> bytes:
    try:
        body = b"".join(response.chunks)
    except errors.KubescriptError as error:
        raise Refused(error.message, gone=error.code == "cluster.timeout") from None
    if response.status == 200:
        return body
    if response.status == 204:
        raise Refused("there is nothing yet")
    message = ""
    with contextlib.suppress(msgspec.MsgspecError):
        message = str(msgspec.json.decode(body, type=dict[str, Any]).get("message", ""))[:300]
    raise Refused(f"{response.status} {response.reason}: {message}".rstrip(": "), gone=response.status >= 500)


def fields(document: bytes) -> dict[str, Any]:
    """A discovery document. Raises Refused when it is none: a login page, say."""
    try:
        return msgspec.json.decode(document, type=dict[str, Any])
    except msgspec.MsgspecError:
        raise Refused("the answer is no JSON object; is `server` in the kubeconfig an API server?") from None
