"""Bodies of which only the metadata of objects may pass. `bodies` calls it before anything is masked.

The host has asked the API server for metadata. One that is broken, or aggregated behind it, may send whole objects all
the same, so each object is written anew here with the fields that are listed here. What is not the answer that was
asked for does not pass at all. A list is cut into its objects while it arrives; time grows with the bytes alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import msgspec

from kubescript.masker import linear
from kubescript.wire import masking

__all__ = ["ShapeError", "events", "of_error", "of_list", "of_object"]

_MAX_HELD: Final = 32 * 1024 * 1024
"""Bytes of one object at most."""
_MAX_LIST: Final = 128 * 1024 * 1024
"""Bytes of a list that are held at most, when its objects cannot be cut out."""
_ITEMS: Final = b'"items":['
_MAX_HEAD: Final = 64 * 1024
"""Bytes before the objects of a list. A list with a longer head is held as a whole."""
# Attack: each try reads the object again, so one full of marks would cost its length squared.
_MAX_TRIES: Final = 32
"""Marks that are tried as the end of one object."""
_COPIES: Final = ("last-applied", "last-handled")
"""Parts of the names of annotations in which tools keep the object as it was written."""
_COPY_NAMES: Final = frozenset({"kapp.k14s.io/original", "objectset.rio.cattle.io/applied"})
_COPY: Final = linear.compiled(
    rb"""["'](?:data|stringData)["']|(?:^|[\n\r{,\["'\\-])[\s"'\\]*(?:data|stringData)[\s"'\\]*:"""
    rb"""|^\s*["']?(?:H4sI|eyJ|ewo|YXBpVmVyc2lvb)"""
)
"""What a copy of a Secret in the value of any annotation has in it: the key as JSON in JSON, YAML or Go writes it. A
value that is compressed or encoded (base64 of gzip, of `{"`, of `apiVersion`) cannot be judged."""
_EVENTS: Final = frozenset({"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"})
# The other reasons are for failures inside the API server, whose messages may quote what it could not read.
_SPEAKING: Final = frozenset({
    "Unauthorized", "Forbidden", "NotFound", "NotAcceptable", "BadRequest", "MethodNotAllowed", "Expired", "Gone",
    "Timeout", "ServerTimeout", "TooManyRequests", "ServiceUnavailable",
})  # fmt: skip
"""Reasons of a Status whose message passes."""
_QUIET: Final = "(the API server's message is withheld: it may quote a value)"
_Shape = TypeVar("_Shape", bound=msgspec.Struct)


class ShapeError(ValueError):
    """The body is not the answer that was asked for."""


class TooLargeError(ValueError):
    """A part of the body is longer than can be held."""


class _Owner(msgspec.Struct, omit_defaults=True, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class _Metadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None


class _Object(msgspec.Struct, omit_defaults=True, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    metadata: _Metadata | None = None


class _ListMetadata(msgspec.Struct, omit_defaults=True, rename="camel"):
    resource_version: str | None = None
    next: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _Rest(msgspec.Struct):
    """A list, or what is left of it."""

    metadata: _ListMetadata | None = None
    items: list[_Object] | msgspec.UnsetType | None = msgspec.UNSET


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


def of_object(served: masking.Metadata, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the metadata of one object. Raises ShapeError, TooLargeError."""
    yield msgspec.json.encode(_reduced(served, _decoded(_whole(chunks), _Object)))


def of_error(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields what a Status says of an error; nothing of what is no Status. Raises TooLargeError."""
    try:
        yield msgspec.json.encode(_status(_whole(chunks)))
    except ShapeError:
        return


def events(served: masking.Metadata, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the events of a watch, each a line. Raises ShapeError."""
    for line in lines:
        if line.strip():
            yield msgspec.json.encode(_event(served, line)) + b"\n"


def of_list(served: masking.Metadata, chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields a list as its objects arrive. Raises ShapeError, TooLargeError."""
    read = _List(served)
    for chunk in chunks:
        if written := read.feed(chunk):
            yield written
    yield read.end()


def _event(served: masking.Metadata, line: bytes) -> dict[str, Any]:
    event = _decoded(line, _Event)
    if event.type not in _EVENTS:
        raise ShapeError
    if event.type == "ERROR":
        return {"type": event.type, "object": _status(bytes(event.object))}
    found, is_named = _decoded(bytes(event.object), _Object), event.type != "BOOKMARK"
    return {"type": event.type, "object": _reduced(served, found, is_named=is_named)}


def _reduced(served: masking.Metadata, found: _Object, *, is_named: bool = True) -> _Object:
    """Returns the object as it may pass."""
    if found.metadata is None or (is_named and not found.metadata.name):
        raise ShapeError
    if served.kind:
        found.kind, found.api_version = served.kind, served.api_version
    annotations = found.metadata.annotations
    if annotations:
        found.metadata.annotations = {key: text for key, text in annotations.items() if not _is_copy(key, text)}
    return found


def _is_copy(name: str, value: str) -> bool:
    """Says whether an annotation holds the object as somebody wrote it, or another one."""
    return name in _COPY_NAMES or any(part in name for part in _COPIES) or _COPY.search(value.encode()) is not None


def _status(raw: bytes) -> _Status:
    found = _decoded(raw, _Status)
    if (found.kind, found.api_version) != ("Status", "v1"):
        raise ShapeError
    if found.reason not in _SPEAKING:
        found.message = _QUIET
    return found


def _decoded(raw: bytes, shape: type[_Shape]) -> _Shape:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ShapeError from None


def _whole(chunks: Iterable[bytes]) -> bytes:
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > _MAX_HELD:
            raise TooLargeError
    return bytes(body)


class _List:
    """A list that arrives: in compact JSON its objects are cut out where one ends, any other is held as a whole."""

    def __init__(self, served: masking.Metadata) -> None:
        self._served = served
        self._buffer = bytearray()
        """What has not been written; from the first object on without what comes before the objects."""
        self._mark = b""
        """The bytes between two objects; empty until the first has begun."""
        self._looked = 0
        """Bytes of the buffer that were searched for the mark."""
        self._tries = 0
        self._is_whole = False
        """Whether the list is held as a whole from here on."""
        self._head: _ListMetadata | None = None
        """The list's own metadata, if it came before the objects."""
        self._count = 0

    def feed(self, chunk: bytes) -> bytes:
        """Takes the next bytes; returns what they make complete."""
        self._buffer += chunk
        if len(self._buffer) > _MAX_LIST:
            raise TooLargeError
        if self._is_whole:
            return b""
        opening = b""
        if not self._mark:
            opening = self._begin()
        return opening + self._cut() if self._mark else b""

    def end(self) -> bytes:
        """Returns the end of the list."""
        prefix = b'{"items":[' if self._mark else b""
        rest = _decoded(prefix + bytes(self._buffer), _Rest)
        if rest.items is msgspec.UNSET:
            raise ShapeError
        written = b"" if self._mark else self._opening(rest.metadata)
        written += b"".join(self._written(item) for item in rest.items or ())
        late = b"" if self._head is not None or rest.metadata is None else _metadata_field(rest.metadata)
        return written + b"]" + late + b"}"

    def _begin(self) -> bytes:
        """Finds the first object, or holds the list as a whole; returns the list up to its first object."""
        found = self._buffer.find(_ITEMS)
        start = found + len(_ITEMS)
        key_end = self._buffer.find(b'":', start) if found >= 0 else -1
        if key_end < 0:
            self._is_whole = len(self._buffer) > _MAX_HEAD
            return b""
        try:
            head = _decoded(bytes(self._buffer[:start]) + b"]}", _Rest)
        except ShapeError:  # the same bytes within another field
            self._is_whole = True
            return b""
        self._mark = b"}," + bytes(self._buffer[start : key_end + 2])
        del self._buffer[:start]
        return self._opening(head.metadata)

    def _cut(self) -> bytes:
        """Takes every complete object out of the buffer."""
        # A complete JSON object has no proper prefix that is one too, so a mark within an object never passes.
        start, written, item = 0, [], None
        while (found := self._buffer.find(self._mark, self._looked)) >= 0:
            self._looked = found + len(b"},")
            try:
                item = _decoded(bytes(self._buffer[start : found + 1]), _Object)
            except ShapeError:
                self._tries += 1
                if self._tries >= _MAX_TRIES:
                    self._is_whole = True
                    break
            else:
                written.append(self._written(item))
                start, self._tries = self._looked, 0
        del self._buffer[:start]
        self._looked = max(len(self._buffer) - len(self._mark) + 1, 0)
        return b"".join(written)

    def _opening(self, metadata: _ListMetadata | None) -> bytes:
        """Returns the list up to its first object."""
        kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        if self._served.kind:
            kind, version = f"{self._served.kind}List", self._served.api_version
        head = msgspec.json.encode({"kind": kind, "apiVersion": version})[:-1]
        if metadata is not None:
            self._head = metadata
            head += _metadata_field(metadata)
        return head + b',"items":['

    def _written(self, item: _Object) -> bytes:
        self._count += 1
        text = msgspec.json.encode(_reduced(self._served, item))
        return b"," + text if self._count > 1 else text


def _metadata_field(metadata: _ListMetadata) -> bytes:
    return b',"metadata":' + msgspec.json.encode(metadata)
