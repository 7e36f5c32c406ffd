"""A list's body while it arrives, and a record of who may still ask for its items.

Items are cut out of the body while it arrives (see splitter.py). A list that the script holds is kept whole. One that
it only loops over, `for pod in k8s.coreV1().list_node():`, is forgotten behind the loop, and stopped when the loop ends
early.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator

import msgspec

from kubescript.worker.sdk import errors, splitter

__all__ = ["Arrival", "Hold"]


class Hold:
    """Lives as long as somebody may ask a list for more."""

    __slots__ = ("__weakref__",)


def _held(holds: weakref.WeakSet[Hold]) -> Hold:
    hold = Hold()
    holds.add(hold)
    return hold


class Arrival:
    """A list body on its way: pulls chunks, feeds the splitter."""

    def __init__(
        self, chunks: Iterator[bytes], broken: Callable[[Exception], Exception], stop: Callable[[], None] = lambda: None
    ) -> None:
        self._chunks: Iterator[bytes] | None = chunks
        self._broken = broken
        self._stop = stop
        self._failure: Exception | None = None
        """Why the rest will never come; whoever asks for it is told again."""
        self._holders: weakref.WeakSet[Hold] = weakref.WeakSet()
        """Who may ask for any item, from the first on; none left: nobody can."""
        self._pinned: Hold | None = None
        self._loops: weakref.WeakSet[Hold] = weakref.WeakSet()
        """Who goes on from where it is."""
        self._splitter = splitter.Splitter()
        self.items = self._splitter.items
        self.head = self._splitter.head

    def pull(self) -> bool:
        """Take one more chunk. False when the body is complete. Raises what `broken` makes of a body that is no
        list."""
        if self._failure is not None:
            raise self._failure
        if self._chunks is None:
            return False
        try:
            self._feed(next(self._chunks, None))
        except msgspec.DecodeError as error:
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
        """Take all the rest."""
        while self.pull():
            pass

    def settle(self) -> None:
        """Make room for the next answer: take all the rest, or do without what nobody can ask for any more. That this
        list broke off is not told to the next call, but to who asks for the rest."""
        if self._holders or self._loops:
            with contextlib.suppress(errors.ApiException, errors.LimitExceeded):
                self.drain()
        elif self._chunks is not None:
            self._chunks = None
            self._stop()

    def whole(self) -> None:
        """Take all the rest, and keep it for good: somebody gets the items themselves."""
        self._pinned = self.keep()
        self.drain()

    def keep(self) -> Hold:
        """As long as what is given lives, every item is kept."""
        return _held(self._holders)

    def loop(self) -> Hold:
        """As long as what is given lives, the items that were not passed are kept."""
        return _held(self._loops)

    def pass_by(self, count: int) -> int:
        """Forget the first `count` items if a single loop is all that is left of the list. Gives how many are still
        there."""
        if self._holders or len(self._loops) > 1:
            return count
        del self.items[:count]
        return 0
