"""Owns `Arrival`, a list's body while it arrives, and the record of who can still read its items; and `Splitter`, which
gives the items while the body is still arriving. list_objects.py reads from an arrival, session.py creates it.

A list that the script holds is kept as a whole. When the script only loops over a list,
`for node in k8s.coreV1().list_node():`, items that the loop has passed are freed, and the body is stopped when the loop
ends early.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.values import exceptions, lazy_json
from kubescript_masking.wire import lists

__all__ = ["Arrival", "Hold", "Splitter"]


class Hold:
    """A token that lives as long as its holder can read more of a list."""

    __slots__ = ("__weakref__",)


def _add_hold(holds: weakref.WeakSet[Hold]) -> Hold:
    hold = Hold()
    holds.add(hold)
    return hold


class Arrival:
    """A list body that is still arriving: pulls chunks and feeds the splitter."""

    def __init__(
        self, chunks: Iterator[bytes], broken: Callable[[Exception], Exception], stop: Callable[[], None] = lambda: None
    ) -> None:
        self._chunks: Iterator[bytes] | None = chunks
        self._broken = broken
        self._stop = stop
        self._failure: Exception | None = None
        """Why the rest of the body never comes; every further `pull` raises it again."""
        # Weak sets: a hold disappears with the list or the loop that holds it, so none has to sign off.
        self._holders: weakref.WeakSet[Hold] = weakref.WeakSet()
        """Holds of lists, which can read any item from the first on."""
        self._pinned: Hold | None = None
        self._loops: weakref.WeakSet[Hold] = weakref.WeakSet()
        """Holds of loops, which only read items ahead of them."""
        self._splitter = Splitter()
        self.items = self._splitter.items
        self.head = self._splitter.head

    def pull(self) -> bool:
        """Takes one more chunk. Returns False when the body is complete. Raises what `broken` makes of a body that is
        no list."""
        if self._failure is not None:
            raise self._failure
        if self._chunks is None:
            return False
        try:
            self._feed(next(self._chunks, None))
        except (lists.FlawError, lists.TooLargeError) as error:
            self._failure = self._broken(error)
            raise self._failure from None
        except Exception as error:
            self._failure = error
            raise
        return True

    def _feed(self, chunk: bytes | None) -> None:
        if chunk is None:
            self._chunks = None
            self._splitter.finish()
        else:
            self._splitter.feed(chunk)

    def drain(self) -> None:
        """Takes the rest of the body."""
        while self.pull():
            pass

    def settle(self) -> None:
        """Makes room for the next answer: takes the rest of the body, or stops it when it cannot be read any more."""
        if self._holders or self._loops:
            # A body that breaks off must not fail the next call. `pull` raises the failure where the rest is read.
            with contextlib.suppress(exceptions.ApiException, exceptions.LimitExceeded):
                self.drain()
        elif self._chunks is not None:
            self._chunks = None
            self._stop()

    def whole(self) -> None:
        """Takes the rest of the body and keeps all items for good."""
        # The caller gets the list of items itself, and no hold shows how long it lives.
        self._pinned = self.keep()
        self.drain()

    def keep(self) -> Hold:
        """Returns a hold; every item is kept as long as it lives."""
        return _add_hold(self._holders)

    def loop(self) -> Hold:
        """Returns a hold for a loop; the items ahead of the loop are kept as long as it lives."""
        return _add_hold(self._loops)

    def pass_by(self, count: int) -> int:
        """Frees the first `count` items if a single loop is all that still reads the list. Returns how many of them are
        still there."""
        if self._holders or len(self._loops) > 1:
            return count
        del self.items[:count]
        return 0


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
    return None if items is None else [_decode_item(bytes(memoryview(each))) for each in items]


def _decode_item(text: bytes) -> Any:
    """Decodes one item: an object one level deep, any other value completely."""
    return lazy_json.open_map(text) if text.startswith(b"{") else lazy_json.decode_all(text)
