"""Provides `Arrival`, a list's body while it arrives, with the lists and loops that can still read its items, and
`Splitter`, which cuts the body into items. session.py creates an arrival, list_objects.py reads from it.

A list that the script holds is kept whole. If the script only loops over a list,
`for node in k8s.coreV1().list_node():`, items that the loop has passed are freed, and the body is stopped if the loop
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
    """A token that exists as long as its holder can read more of a list."""

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
        """The reason why the rest of the body never arrives; every later `pull` raises it again."""
        # These are weak sets, so that a hold disappears together with its list or loop.
        self._holders: weakref.WeakSet[Hold] = weakref.WeakSet()
        """The holds of lists, which can read every item."""
        self._pinned: Hold | None = None
        self._loops: weakref.WeakSet[Hold] = weakref.WeakSet()
        """The holds of loops, which read only the items ahead of them."""
        self._splitter = Splitter()
        self.items = self._splitter.items
        self.head = self._splitter.head

    def pull(self) -> bool:
        """Takes one more chunk. Returns False when the body is complete. Raises the exception from `broken` for a body
        that is not a list."""
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
        """Makes room for the next answer: takes the rest of the body, or stops it if the script can no longer read
        it."""
        if self._holders or self._loops:
            # A body that breaks off must not fail the next call. `pull` raises the failure where the rest is read.
            with contextlib.suppress(exceptions.ApiException, exceptions.LimitExceeded):
                self.drain()
        elif self._chunks is not None:
            self._chunks = None
            self._stop()

    def whole(self) -> None:
        """Takes the rest of the body and never frees an item."""
        # The caller gets the list of items itself, and no hold can follow how long that is used.
        self._pinned = self.keep()
        self.drain()

    def keep(self) -> Hold:
        """Returns a hold; as long as it exists, every item is kept."""
        return _add_hold(self._holders)

    def loop(self) -> Hold:
        """Returns a hold for a loop; as long as it exists, the items ahead of the loop are kept."""
        return _add_hold(self._loops)

    def pass_by(self, count: int) -> int:
        """Frees the first `count` items if only one loop still reads the list. Returns how many of them are left."""
        if self._holders or len(self._loops) > 1:
            return count
        del self.items[:count]
        return 0


_HEAD: Final = ("kind", "apiVersion", "metadata")
_many: Final = msgspec.json.Decoder(list[msgspec.Raw] | None).decode


class Splitter:
    """Cuts a body into items. `items` grows with each chunk; `head` has the list's own fields that have arrived."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        """One dict per item, one level decoded. Each owns its bytes, so that freeing it frees them."""
        self.head: dict[str, Any] = {}
        self._cutter = lists.Cutter(_open, _open_all)

    def feed(self, chunk: bytes) -> None:
        """Takes the next bytes."""
        self.items += self._cutter.feed(chunk)
        self._note()

    def finish(self) -> None:
        """Takes the last items of a complete body. Raises lists.FlawError if the body is not a list."""
        self.items += self._cutter.end()
        self._note()

    def _note(self) -> None:
        """Adds the list's own fields that have arrived to the head."""
        # These fields may be before or after the items.
        arrived = self._cutter.fields
        for key in _HEAD:
            if key in arrived and key not in self.head:
                self.head[key] = lazy_json.decode_all(arrived[key])


def _open(item: memoryview) -> Any:
    """Decodes one object one level deep."""
    return lazy_json.open_map(bytes(item))


def _open_all(raw: msgspec.Raw) -> list[Any] | None:
    """Decodes items of any kind."""
    items = _many(raw)
    if items is None:
        return None
    # `bytes` copies each item, so that freeing it does not wait for the whole chunk.
    return [_decode_item(bytes(memoryview(each))) for each in items]


def _decode_item(text: bytes) -> Any:
    """Decodes one item: an object one level deep, any other value completely."""
    if text.startswith(b"{"):
        return lazy_json.open_map(text)
    return lazy_json.decode_all(text)
