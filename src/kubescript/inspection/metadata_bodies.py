"""Reduces bodies of which only a part of the objects may pass. `inspector` calls this module before anything is masked.

The host has asked the API server for metadata, or for whole Secrets of which the keys may pass. A broken or aggregated
server may still send other objects, so each is rewritten with only the fields listed in `served_objects`. An answer of
any other shape does not pass at all. A list is split into its objects as it arrives, in time linear in its bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from kubescript.inspection import served_objects
from kubescript.wire import inspection
from kubescript_masking.wire import lists

__all__ = ["events", "of_error", "of_list", "of_object", "read_whole"]

_MAX_HELD: Final = 32 * 1024 * 1024
"""The maximum size of one object in bytes."""
_EVENTS: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
# Other reasons report failures inside the API server, whose messages may quote unreadable input.
_SPEAKING: Final = frozenset({
    "Unauthorized", "Forbidden", "NotFound", "NotAcceptable", "BadRequest", "MethodNotAllowed", "Expired", "Gone",
    "Timeout", "ServerTimeout", "TooManyRequests", "ServiceUnavailable",
})  # fmt: skip
"""Reasons for which a Status keeps its message."""
_QUIET: Final = "(the API server's message is withheld: it may quote a value)"


class _ListMetadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    resource_version: str | None = None
    next: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _Details(msgspec.Struct, omit_defaults=True, rename="camel"):
    name: str | None = None
    group: str | None = None
    kind: str | None = None
    uid: str | None = None
    retry_after_seconds: int | None = None


class _Status(msgspec.Struct, omit_defaults=True, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    metadata: _ListMetadata | None = None
    status: str | None = None
    message: str | None = None
    reason: str | None = None
    details: _Details | None = None
    code: int | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


def of_object(served: inspection.Metadata, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the permitted part of one object. Raises ShapeError or TooLargeError."""
    body = read_whole(chunks)
    found = served_objects.read(served, body)
    reduced = served_objects.reduce(served, found)
    yield msgspec.json.encode(reduced)


def of_error(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields an error's Status; yields nothing if the body is not a Status. Raises TooLargeError."""
    body = read_whole(chunks)
    try:
        status = _status(body)
    except served_objects.ShapeError:
        return
    yield msgspec.json.encode(status)


def events(served: inspection.Metadata, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the events of a watch, one per line. Raises ShapeError."""
    for line in lines:
        if not line.strip():
            continue
        event = _event(served, line)
        text = msgspec.json.encode(event)
        yield text + b"\n"


def of_list(served: inspection.Metadata, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields a list while its objects arrive. Raises ShapeError or TooLargeError."""
    read = _List(served)
    for chunk in chunks:
        if written := read.feed(chunk):
            yield written
    yield read.end()


def _event(served: inspection.Metadata, line: bytes) -> dict[str, Any]:
    """Returns the permitted part of a watch event. Raises ShapeError."""
    event = served_objects.decode(line, _Event)
    body = bytes(event.object)
    if event.type not in _EVENTS:
        raise served_objects.ShapeError
    if event.type == "ERROR":
        return {"type": event.type, "object": _status(body)}
    # A bookmark has only a version.
    is_named = event.type != "BOOKMARK"
    found = served_objects.read(served, body)
    reduced = served_objects.reduce(served, found, is_named=is_named)
    return {"type": event.type, "object": reduced}


def _status(raw: bytes) -> _Status:
    found = served_objects.decode(raw, _Status)
    if (found.kind, found.api_version) != ("Status", "v1"):
        raise served_objects.ShapeError
    if found.reason not in _SPEAKING:
        found.message = _QUIET
    return found


def read_whole(chunks: Iterable[bytes]) -> bytes:
    """Returns the whole body. Raises TooLargeError when it is larger than 32 MiB."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > _MAX_HELD:
            raise lists.TooLargeError("part")
    return bytes(body)


class _List:
    """A list in transit: each of its objects is written as soon as it is complete."""

    def __init__(self, served: inspection.Metadata) -> None:
        self._served = served
        self._cutter = served_objects.make_cutter(served)
        self._is_open = False
        """Whether the list's opening has been written."""
        self._head: msgspec.Raw | None = None
        """The list's own metadata, if it preceded the objects."""
        self._count = 0

    def feed(self, chunk: bytes) -> bytes:
        """Takes the next bytes; returns the output that they complete."""
        objects = self._cutter.feed(chunk)
        if not self._cutter.has_begun:
            return b""
        return self._opening() + self._write(objects)

    def end(self) -> bytes:
        """Returns the end of the list."""
        try:
            objects = self._cutter.end()
        except lists.FlawError:
            raise served_objects.ShapeError from None
        written = self._opening() + self._write(objects)
        # API servers send the metadata before the objects, but JSON requires no order.
        late = None
        if self._head is None:
            late = self._cutter.fields.get("metadata")
        return written + b"]" + _metadata_field(late) + b"}"

    def _opening(self) -> bytes:
        """Returns the list's opening, up to its first object, but only once; later calls return nothing."""
        if self._is_open:
            return b""
        self._is_open = True
        kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        if self._served.kind:
            kind = f"{self._served.kind}List"
            version = self._served.api_version
        head = msgspec.json.encode({"kind": kind, "apiVersion": version})
        self._head = self._cutter.fields.get("metadata")
        metadata = _metadata_field(self._head)
        # The closing brace is left out, so that more fields can follow.
        return head[:-1] + metadata + b',"items":['

    def _write(self, objects: list[served_objects.Object]) -> bytes:
        """Returns more items of the list, with the comma before them."""
        texts = []
        for found in objects:
            reduced = served_objects.reduce(self._served, found)
            texts.append(msgspec.json.encode(reduced))
        comma = b"," if self._count and texts else b""
        self._count += len(texts)
        return comma + b",".join(texts)


def _metadata_field(metadata: msgspec.Raw | None) -> bytes:
    """Returns the field `metadata` of a list, with the comma before it; nothing if there is no metadata."""
    if metadata is None:
        return b""
    found = served_objects.decode(bytes(metadata), _ListMetadata)
    return b',"metadata":' + msgspec.json.encode(found)
