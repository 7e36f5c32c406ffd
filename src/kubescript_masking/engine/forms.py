"""Reads the bodies of each form: whether they are whole, and what a trailer reports about them.

All forms are read in time that grows with the bytes alone.
"""

from __future__ import annotations

import abc
import codecs
import hashlib
from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec

from kubescript_masking.engine import results
from kubescript_masking.wire import lists, masking

__all__ = ["ANY", "TABLE", "Document", "Events", "List", "Object", "Resource", "Text"]

_MAX_HELD: Final = 128 * 1024 * 1024
"""The maximum size in bytes of one document, or of one line of a watch."""
_MOST: Final = 1 << 40
TABLE: Final = ("rows", lists.ITEMS)
"""Fields of the answer to a request for a Table; an API without Tables answers with a list."""
# kube-apiserver itself writes null for the items of these kinds when there are none.
_NULLABLE: Final = frozenset({"PartialObjectMetadataList", "Table"})
_UNNAMED_ERROR: Final = 500
_NOTHING: Final = msgspec.Raw(b"null")


class Object(msgspec.Struct, gc=False):
    """Any object. The object is read to its end, and nothing of it is kept."""


class _ListMetadata(msgspec.Struct, rename="camel"):
    next: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _Named(msgspec.Struct):
    """An object's kind and status."""

    kind: str = ""
    status: msgspec.Raw = _NOTHING


class _Changed(msgspec.Struct):
    """An event's object, with a Status's code; other kinds may use this field differently."""

    code: msgspec.Raw = _NOTHING


class _Event(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: _Changed


_ONE: Final = msgspec.json.Decoder(Object)
_MANY: Final = msgspec.json.Decoder(list[Object] | None)
_METADATA: Final = msgspec.json.Decoder(_ListMetadata)
_KIND: Final = msgspec.json.Decoder(str)
_EVENT: Final = msgspec.json.Decoder(_Event)
_CODE: Final = msgspec.json.Decoder(int | None)
_NAMED: Final = msgspec.json.Decoder(_Named)
ANY: Final = msgspec.json.Decoder(msgspec.Raw)
"""Reads any JSON."""


class Text:
    """Reads text, which needs no checks."""

    error = 0
    """The status code of the event that ends a watch with an error."""
    answer: results.Masked | bytes = b""
    """The answer of a source; bytes if it is JSON of another shape."""

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes. Raises FlawError, TooLargeError."""

    def end(self) -> masking.Trailer:
        """Returns the body's trailer. Raises FlawError."""
        return masking.Trailer()

    def ends(self) -> list[int]:
        """Returns where items have ended since the last call."""
        return []


class _Json(Text, abc.ABC):
    """Reads JSON in UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_ascii = True

    def feed(self, chunk: bytes) -> None:
        # msgspec does not check the characters of fields that it skips.
        self._is_ascii = self._is_ascii and chunk.isascii()
        if not self._is_ascii:
            self._decode(chunk)
        self._take(chunk)

    def end(self) -> masking.Trailer:
        self._decode(b"", final=True)
        return self._end()

    def _decode(self, chunk: bytes, *, final: bool = False) -> None:
        try:
            self._decoder.decode(chunk, final)
        except UnicodeDecodeError:
            raise lists.FlawError("json") from None

    @abc.abstractmethod
    def _take(self, chunk: bytes) -> None:
        """Takes the next bytes, which are valid UTF-8 so far."""

    @abc.abstractmethod
    def _end(self) -> masking.Trailer:
        """Returns the body's trailer. Raises FlawError."""


class Document(_Json):
    """Reads one document."""

    most = _MAX_HELD
    """How many bytes are held."""
    reason = "part"
    """Why a longer document does not pass."""

    def __init__(self, decode: Callable[[bytes | bytearray], Any]) -> None:
        super().__init__()
        self._decode_whole = decode
        self._held = bytearray()
        """The document's bytes so far."""

    def _take(self, chunk: bytes) -> None:
        """Holds the bytes until the document is whole."""
        self._held += chunk
        if len(self._held) > self.most:
            raise lists.TooLargeError(self.reason)

    def _end(self) -> masking.Trailer:
        try:
            return self._check(self._decode_whole(self._held))
        except lists.UNREADABLE as error:
            raise lists.FlawError("json", error) from None

    def _check(self, document: Any) -> masking.Trailer:
        """Checks the decoded document and returns its trailer. Raises FlawError."""
        return masking.Trailer()


class Resource(Document):
    """Reads one object of the API."""

    def __init__(self) -> None:
        super().__init__(_NAMED.decode)

    def _check(self, document: _Named) -> masking.Trailer:
        # Attack: an API server answers 200 with `{}`, or with the Status of a failure, which would be taken for a Pod
        # without fields.
        is_failure = document.kind == "Status" and bytes(document.status) == b'"Failure"'
        if is_failure or not document.kind:
            raise lists.FlawError("kind")
        return masking.Trailer()


class List(_Json):
    """Reads a list, or a Table."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        super().__init__()
        self._ends: list[int] = []
        self._count = 0
        self._cutter = lists.Cutter(_ONE.decode, _MANY.decode, keys, self._ends)

    def _take(self, chunk: bytes) -> None:
        """Counts the items that these bytes complete."""
        items = self._cutter.feed(chunk)
        self._count += len(items)

    def ends(self) -> list[int]:
        """Returns where items have ended since the last call."""
        ends = self._ends.copy()
        self._ends.clear()
        return ends

    def _end(self) -> masking.Trailer:
        last = self._cutter.end()
        found = self._cutter.fields
        try:
            kind = _KIND.decode(found.get("kind", b""))
            metadata = _METADATA.decode(found.get("metadata", b"{}"))
        except lists.UNREADABLE:
            raise lists.FlawError("list") from None
        has_items = lists.ITEMS in found
        is_kind = kind.endswith("List") if has_items else kind == "Table"
        is_flawed_null = self._cutter.is_null and kind not in _NULLABLE
        if is_flawed_null or not is_kind:
            raise lists.FlawError("list")
        token = (metadata.next or "").encode()
        remaining = metadata.remaining_item_count or 0
        return masking.Trailer(
            items=self._count + len(last),
            next=hashlib.sha256(token).hexdigest() if token else "",
            remaining=min(max(0, remaining), _MOST),
        )


class Events(_Json):
    """Reads the events of a watch."""

    def __init__(self) -> None:
        super().__init__()
        self._line = bytearray()
        self._count = 0

    def _take(self, chunk: bytes) -> None:
        self._line += chunk
        if len(self._line) > _MAX_HELD:
            raise lists.TooLargeError("line")
        if b"\n" not in chunk:
            return
        *lines, self._line = self._line.split(b"\n")
        for line in lines:
            self._event(line)

    def _end(self) -> masking.Trailer:
        # The last event may lack its line feed.
        self._event(self._line)
        return masking.Trailer(items=self._count)

    def _event(self, line: bytearray) -> None:
        if not line.strip():
            return
        try:
            event = _EVENT.decode(line)
            is_error = event.type == "ERROR"
            code = _CODE.decode(event.object.code) if is_error else None
        except lists.UNREADABLE as error:
            raise lists.FlawError("event", error) from None
        if is_error:
            status = code or 0
            self.error = status if 400 <= status < 600 else _UNNAMED_ERROR
        elif event.type != "BOOKMARK":
            self._count += 1
