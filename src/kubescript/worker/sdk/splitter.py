"""Owns `Splitter`, which gives the items of a list answer while the body is still arriving, so that a loop of a script
starts before the last byte. streaming.py feeds it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript.worker.sdk import lazy_json
from kubescript_masking.wire import lists

__all__ = ["Splitter"]

_HEAD: Final = ("kind", "apiVersion", "metadata")
_many: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode


class Splitter:
    """Takes a body's chunks. `items` grows with them; `head` has the list's own fields as soon as they have arrived."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        """One dict per item, one level decoded; each owns its bytes."""
        self.head: dict[str, Any] = {}
        self._cutter = lists.Cutter(_open, _open_all)

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self.items += self._cutter.feed(chunk)
        self._note()

    def finish(self) -> None:
        """Takes what is left of a complete body. Raises lists.FlawError when it is no list."""
        self.items += self._cutter.end()
        self._note()

    def _note(self) -> None:
        for key in _HEAD:
            if key in self._cutter.fields and key not in self.head:
                self.head[key] = lazy_json.decode_all(self._cutter.fields[key])


def _open(item: memoryview) -> Any:
    """Decodes one object one level deep."""
    return lazy_json.open_map(bytes(item))


def _open_all(raw: msgspec.Raw) -> list[Any] | None:
    """Decodes items of any kind."""
    items = _many(raw)
    return None if items is None else [_own(bytes(memoryview(each))) for each in items]


def _own(text: bytes) -> Any:
    """Decodes one item: an object one level deep, any other value completely."""
    return lazy_json.open_map(text) if text.startswith(b"{") else lazy_json.decode_all(text)
