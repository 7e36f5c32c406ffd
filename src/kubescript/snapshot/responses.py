"""Responses in the API server's format: Status objects, list documents, watch events. Called by `snapshot`, `podlogs`
and `discovery_documents`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import msgspec

from kubescript import types
from kubescript.snapshot import collection

__all__ = ["document", "events", "failure", "listing", "not_found", "partial", "pieces", "text"]

_CHUNK: Final = 256 * 1024
"""The size of one piece of a body in bytes."""
_PARTIAL: Final = {"apiVersion": "meta.k8s.io/v1"}


def document(value: Any, status: int = 200) -> types.Response:
    """Returns a small JSON answer. `value` may contain msgspec.Raw."""
    data = msgspec.json.encode(value)
    return _response(iter([data]), status)


def pieces(parts: Iterable[bytes], warning: str = "") -> types.Response:
    """Returns a large JSON answer, which is written in parts."""
    response = _response(_chunks(parts), 200)
    return replace(response, headers={"warning": warning}) if warning else response


def text(chunks: Iterable[bytes]) -> types.Response:
    """Returns a text answer, such as a log."""
    return _response(iter(chunks), 200, "text/plain")


def failure(status: int, reason: str, message: str, details: dict[str, Any] | None = None) -> types.Response:
    """Returns the Status object of a request that the API server would refuse."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details or {},
        "code": status,
    }
    return document(body, status)


def not_found(resource: collection.Resource, name: str) -> types.Response:
    """Returns 404 for an object that did not exist when its kind was captured."""
    full = resource.plural
    if resource.group:
        full += f".{resource.group}"
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    message = f'{full} "{name}" not found'
    return failure(404, "NotFound", message, details)


def listing(
    resource: collection.Resource, metadata: dict[str, Any], items: Iterable[bytes], *, partial: bool
) -> types.Response:
    """Returns a list document."""
    # The document is written in pieces, so that its size never doubles in memory.
    if partial:
        kind = {"kind": "PartialObjectMetadataList", **_PARTIAL}
    else:
        kind = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
    opening = msgspec.json.encode({**kind, "metadata": metadata})
    head = opening.removesuffix(b"}") + b',"items":['
    return _response(_chunks(_list_parts(head, items)), 200)


def events(objects: Iterable[bytes]) -> types.Response:
    """Returns a watch that reports every object as ADDED and ends."""
    lines = (b'{"type":"ADDED","object":' + item + b"}\n" for item in objects)
    return _response(_chunks(lines), 200)


def partial(raw: msgspec.Raw) -> bytes:
    """Returns only the object's metadata, as PartialObjectMetadata."""
    fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    metadata = fields.get("metadata", msgspec.Raw(b"{}"))
    document = {"kind": "PartialObjectMetadata", **_PARTIAL, "metadata": metadata}
    return msgspec.json.encode(document)


def _list_parts(head: bytes, items: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the document in parts, item by item."""
    yield head
    for number, item in enumerate(items):
        if number:
            yield b","
        yield item
    yield b"]}"


def _chunks(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the same bytes in pieces of about 256 KiB."""
    pending = bytearray()
    for part in parts:
        pending += part
        if len(pending) >= _CHUNK:
            yield bytes(pending)
            pending.clear()
    if pending:
        yield bytes(pending)


def _response(chunks: Iterator[bytes], status: int, content_type: str = "application/json") -> types.Response:
    return types.Response(
        status=status,
        reason=HTTPStatus(status).phrase,
        content_type=content_type,
        chunks=chunks,
        close=lambda: None,
    )
