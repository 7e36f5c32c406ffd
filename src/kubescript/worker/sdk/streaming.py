"""Owns `Arrival`, a list's body while it arrives, and the record of who can still read its items. lists.py reads from
it, session.py creates it.

A list that the script holds is kept as a whole. When the script only loops over a list,
`for node in k8s.coreV1().list_node():`, items that the loop has passed are freed, and the body is stopped when the loop
ends early.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator

from kubescript.worker.sdk import errors, splitter
from kubescript_masking.wire import lists

__all__ = ["Arrival", "Hold"]


class Hold:
    """A token that lives as long as its holder can read more of a list."""

    __slots__ = ("__weakref__",)


def _held(holds: weakref.WeakSet[Hold]) -> Hold:
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
        # Weak sets: a hold disappears with the list or the loop that holds it, so nobody has to sign off.
        self._holders: weakref.WeakSet[Hold] = weakref.WeakSet()
        """Holds of lists, which can read any item from the first on."""
        self._pinned: Hold | None = None
        self._loops: weakref.WeakSet[Hold] = weakref.WeakSet()
        """Holds of loops, which only read items ahead of them."""
        self._splitter = splitter.Splitter()
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
        """Makes room for the next answer: takes the rest of the body, or stops it when nobody can read it any more."""
        if self._holders or self._loops:
            # A body that breaks off must not fail the next call. `pull` raises the failure to whoever reads the rest.
            with contextlib.suppress(errors.ApiException, errors.LimitExceeded):
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
        return _held(self._holders)

    def loop(self) -> Hold:
        """Returns a hold for a loop; the items ahead of the loop are kept as long as it lives."""
        return _held(self._loops)

    def pass_by(self, count: int) -> int:
        """Frees the first `count` items if a single loop is all that still reads the list. Returns how many of them are
        still there."""
        if self._holders or len(self._loops) > 1:
            return count
        del self.items[:count]
        return 0
