"""Owns `Splitter`, which cuts the items out of a list answer while the body is still arriving, so that a script's loop
starts before the last byte. streaming.py feeds it.

In compact JSON as the API server writes it, all items begin with the same key, so `},{"metadata":` marks a place where
an item may end. Every other body (white space, another order of keys, no items, items full of such marks) is kept and
decoded as a whole at the end: that is slower, but never wrong.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript.worker.sdk import lazy_json

__all__ = ["Splitter"]

_ITEMS: Final = b'"items":['
_NOTHING: Final = msgspec.Raw()
MAX_HEADER: Final = 64 * 1024
"""Bytes before the items. A longer header is decoded with the rest."""
# Attack: each try reads the item again, so an item full of marks would cost its length squared.
MAX_CANDIDATES: Final = 32
"""Marks that are tried as the end of one item."""


class _Document(msgspec.Struct, gc=False):
    """A list answer, or a piece of one that is completed to a document."""

    kind: msgspec.Raw = _NOTHING
    apiVersion: msgspec.Raw = _NOTHING  # noqa: N815 - the JSON name
    metadata: msgspec.Raw = _NOTHING
    items: list[msgspec.Raw] | None = None


_document: Final = msgspec.json.Decoder(_Document).decode


class Splitter:
    """Takes a body's chunks. `items` grows with them; `head` has the list's own fields as soon as they have arrived."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        """One dict per item, one level decoded; each owns its bytes."""
        self.head: dict[str, Any] = {}
        self._buffer = b""
        self._mark: bytes | None = None
        """The bytes between two items; None until the first item has begun."""
        self._scan = 0
        self._tries = 0
        self._whole: list[bytes] | None = None
        """All chunks from the current item on, once the splitter has given up cutting."""
        self._prefix = b""

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        if self._whole is not None:
            self._whole.append(chunk)
            return
        self._buffer = self._buffer + chunk if self._buffer else bytes(chunk)
        if self._mark is None:
            self._begin()
        if self._mark is not None:
            self._cut(self._mark)

    def finish(self) -> None:
        """Decodes what is left of a complete body. Raises msgspec.DecodeError when it is not JSON."""
        rest = b"".join(self._whole) if self._whole is not None else self._buffer
        document = _document(self._prefix + rest)
        self._note(document)
        for each in document.items or ():
            self.items.append(_own(bytes(memoryview(each))))
        self._buffer, self._whole = b"", None

    def _note(self, document: _Document) -> None:
        for key in ("kind", "apiVersion", "metadata"):
            value = getattr(document, key)
            if value != _NOTHING:
                self.head[key] = lazy_json.decode_all(value)

    def _begin(self) -> None:
        """Finds the start of the first item and the mark between items, or gives up cutting."""
        found = self._buffer.find(_ITEMS)
        start = found + len(_ITEMS)
        end = self._buffer.find(b'":', start) if found >= 0 else -1
        if end < 0:
            hopeless = len(self._buffer) > MAX_HEADER or (
                found >= 0 and self._buffer[start : start + 2] not in (b'{"', b"{", b"")
            )
            if hopeless:
                self._give_up()
        elif not self._buffer.startswith(b'{"', start) or not self._is_header(self._buffer[:start]):
            self._give_up()
        else:
            self._mark = b"}," + self._buffer[start : end + 2]
            self._buffer = self._buffer[start:]
            self._prefix = b'{"items":['

    def _is_header(self, text: bytes) -> bool:
        """Tells whether `text` ends where the document's own items begin, and keeps the list's own fields."""
        # The same bytes may also stand inside another field; only at the top level does this completion decode.
        try:
            document = _document(text + b"]}")
        except msgspec.DecodeError:
            return False
        self._note(document)
        return document.items == []

    def _cut(self, mark: bytes) -> None:
        """Moves every complete item out of the buffer."""
        # A piece is an item exactly when it decodes as one complete JSON object. A complete object has no proper prefix
        # that is complete too, so a mark that lies inside an item never passes.
        buffer, start, scan = self._buffer, 0, self._scan
        while (found := buffer.find(mark, scan)) >= 0:
            scan = found + 2
            try:
                self.items.append(lazy_json.open_map(buffer[start : found + 1]))
            except msgspec.DecodeError:
                self._tries += 1
                if self._tries >= MAX_CANDIDATES:
                    break
            else:
                start, self._tries = scan, 0
        self._buffer = buffer[start:]
        self._scan = max(len(self._buffer) - len(mark) + 1, 0)
        if self._tries >= MAX_CANDIDATES:
            self._give_up()

    def _give_up(self) -> None:
        self._whole, self._buffer = [self._buffer], b""


def _own(text: bytes) -> Any:
    """Decodes one item: an object one level deep, any other value completely."""
    return lazy_json.open_map(text) if text.startswith(b"{") else lazy_json.decode_all(text)
