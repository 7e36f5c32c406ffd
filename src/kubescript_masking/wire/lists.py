"""Cuts an arriving list into its items. The masker counts them and rewrites the metadata; the worker iterates over
them.

In compact JSON, as API servers write it, all items begin with the same key, so `},{"metadata":` marks a place where an
item may end. Any other list is held as a whole and cut at its end. Time grows with the bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

__all__ = ["ITEMS", "UNREADABLE", "Cutter", "FlawError", "ReasonError", "TooLargeError"]

_MAX_LIST: Final = 128 * 1024 * 1024
"""The maximum number of bytes held of a list whose items cannot be cut out."""
_MAX_HEAD: Final = 64 * 1024
"""The maximum number of bytes before the items; a list with more is held as a whole."""
# Attack: a list's item is full of marks; each try reads the item again, so the cost would grow with the square of its
# length.
_MAX_TRIES: Final = 32
"""How many marks are tried as the end of one item."""
ITEMS: Final = "items"
_WHITE: Final = b" \t\r\n"
_decode: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_Item = TypeVar("_Item")

UNREADABLE: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""Errors that reading JSON raises."""


class ReasonError(ValueError):
    """A body cannot be passed on; the reason is a word that the host recognises."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class TooLargeError(ReasonError):
    """A part of a body is longer than can be held."""


class FlawError(ReasonError):
    """A body is malformed or incomplete."""

    def __init__(self, reason: str, cause: BaseException | None = None) -> None:
        super().__init__(reason)
        # msgspec reads to a limited depth, and valid JSON may be deeper.
        if isinstance(cause, RecursionError):
            self.reason = "depth"


def _unique_fields(document: bytes) -> dict[str, msgspec.Raw]:
    """Returns the fields of a JSON object. Raises FlawError when it is not an object, or has a field twice."""
    try:
        found = _decode(document)
    except UNREADABLE as error:
        raise FlawError("json", error) from None
    # Attack: a server sends a second `items`; one JSON reader takes the first, another one the second. Every byte
    # except blanks must belong to a field that was found; a key written with escapes counts as a second one.
    expected = len(b"{}")
    for key, value in found.items():
        expected += _size(msgspec.json.encode(key)) + _size(value) + len(b":,")
    if found:  # no comma stands after the last one
        expected -= 1
    if _size(document) != expected:
        raise FlawError("list")
    return found


def _size(text: bytes | msgspec.Raw) -> int:
    """Returns the number of bytes that are not blanks."""
    filled = bytes(text).translate(None, _WHITE)
    return len(filled)


class Cutter(Generic[_Item]):
    """Takes a body's chunks and returns its items, decoded by `one`, or by `many` for the rest at the end."""

    def __init__(
        self,
        one: Callable[[memoryview], _Item],
        many: Callable[[msgspec.Raw], list[_Item] | None],
        keys: tuple[str, ...] = (ITEMS,),
        ends: list[int] | None = None,
    ) -> None:
        """The items are in a field whose name is one of `keys`. The places after the items' commas are added to
        `ends`."""
        self._keys = keys
        self._openings = tuple(f'"{key}":['.encode() for key in keys)
        self._opening = b""
        """The opening that this list has; empty until the first item has begun."""
        self._one = one
        self._many = many
        self._buffer = bytearray()
        """The bytes that are not cut yet; from the first item on, without those before the items."""
        self._mark = b""
        """The bytes between two items; empty until the first has begun."""
        self._looked = 0
        """How many bytes of the buffer were searched for the mark."""
        self._tries = 0
        self._is_whole = False
        """Whether the rest of the list is held as a whole."""
        self.fields: dict[str, msgspec.Raw] = {}
        """The list's own fields: those before the items once the first one has begun, and all of them at the end."""
        self._ends = ends
        self._gone = 0
        """How many bytes of the body have left the buffer."""
        self.is_null = False
        """Whether the list has null instead of items."""

    @property
    def has_begun(self) -> bool:
        """Whether the first item has begun to arrive."""
        return bool(self._mark)

    def feed(self, chunk: bytes) -> list[_Item]:
        """Takes the next bytes; returns the items that they complete. Raises TooLargeError."""
        self._buffer += chunk
        if len(self._buffer) > _MAX_LIST:
            raise TooLargeError("part")
        if not self._mark and not self._is_whole:
            self._begin()
        if self._is_whole or not self._mark:
            return []
        return self._cut()

    def end(self) -> list[_Item]:
        """Returns the last items. Raises FlawError when the body was not a list."""
        opening = b"{" + self._opening if self._opening else b""
        rest = bytes(self._buffer)
        found = _unique_fields(opening + rest)
        keys = [key for key in self._keys if key in found]
        is_repeated = not found.keys().isdisjoint(self.fields)
        if is_repeated or len(keys) != 1:
            raise FlawError("list")
        try:
            items = self._many(found[keys[0]])
        except UNREADABLE as error:
            raise FlawError("list", error) from None
        self.is_null = items is None
        self.fields |= found
        return items or []

    def _begin(self) -> None:
        """Finds the first item, or holds the list as a whole."""
        places = [(self._buffer.find(text), text) for text in self._openings]
        found = [(place, text) for place, text in places if place >= 0]
        place, opening = min(found, default=(-1, b""))
        start = place + len(opening)
        key_end = self._buffer.find(b'":', start) if opening else -1
        if key_end < 0:
            self._is_whole = len(self._buffer) > _MAX_HEAD
            return
        head = bytes(self._buffer[:start])
        try:
            self.fields = _unique_fields(head + b"]}")
        except FlawError:  # the same bytes within another field
            self._is_whole = True
            return
        # A second field of this name after the items is an error.
        del self.fields[opening[1:-3].decode()]
        self._opening = opening
        first_key = bytes(self._buffer[start : key_end + 2])
        self._mark = b"}," + first_key
        self._forget(start)

    def _forget(self, size: int) -> None:
        """Removes the buffer's first bytes."""
        del self._buffer[:size]
        self._gone += size

    def _cut(self) -> list[_Item]:
        """Takes every complete item out of the buffer."""
        # No proper prefix of a complete JSON object is a complete object, so a mark within an object is never taken for
        # its end.
        start, cut = 0, []
        with memoryview(self._buffer) as view:
            while (found := self._buffer.find(self._mark, self._looked)) >= 0:
                self._looked = found + len(b"},")
                try:
                    cut.append(self._one(view[start : found + 1]))
                except UNREADABLE:
                    self._tries += 1
                    if self._tries >= _MAX_TRIES:
                        self._is_whole = True
                        break
                else:
                    start, self._tries = self._looked, 0
                    if self._ends is not None:
                        self._ends.append(self._gone + start)
        self._forget(start)
        self._looked = max(len(self._buffer) - len(self._mark) + 1, 0)
        return cut
