"""Whole answers and whole lists, read through a broker like a script would: what `capture` asks a cluster with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript import broker, errors, records, tallies, types
from kubescript.sandbox import protocol

__all__ = ["NO_LIST", "Reader", "Refused"]

_PAGE: Final = 500
"""Objects per page: bounds memory; the pages of one list show one moment."""
_CALL_S: Final = 120.0
NO_LIST: Final = "the answer was not a list"


class _Page(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[msgspec.Raw] | None = None


class Refused(Exception):
    """One call got no usable answer; its text says why."""


class Reader:
    """Makes GETs through one broker."""

    def __init__(self, door: broker.Broker, journal: records.Journal | None) -> None:
        self._door = door
        self._journal = records.NOWHERE if journal is None else journal

    def get(
        self, path: tuple[str, ...], query: tuple[tuple[str, str], ...] = (), accept: protocol.Accept = "json"
    ) -> bytes:
        """The whole body of one GET. Raises Refused."""
        call = protocol.Call("GET", path, query, accept=accept)
        reply, response = self._door.handle(call, tallies.Tally(journal=self._journal), _CALL_S)
        if reply.fault is not None or response is None:
            raise Refused(reply.fault.message if reply.fault else "no answer")
        with contextlib.closing(response):
            return _read(response)

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
        raise Refused(error.message) from None
    if response.status == 200:
        return body
    message = ""
    with contextlib.suppress(msgspec.MsgspecError):
        message = str(msgspec.json.decode(body, type=dict[str, Any]).get("message", ""))[:300]
    raise Refused(f"{response.status} {response.reason}: {message}".rstrip(": "))
