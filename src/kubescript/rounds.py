"""What waits, each owner's things apart: the owners take turns, so that none with many things keeps others waiting."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

__all__ = ["Rounds"]

_Item = TypeVar("_Item")


class Rounds(Generic[_Item]):
    """The things that wait. Not safe for use from several threads at once."""

    def __init__(self) -> None:
        self._queues: dict[str, collections.deque[_Item]] = {}
        """The things by owner; the owner whose turn is next first."""

    def __contains__(self, owner: str) -> bool:
        return owner in self._queues

    def __iter__(self) -> Iterator[_Item]:
        return itertools.chain.from_iterable(self._queues.values())

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def owners(self) -> int:
        """How many owners have things that wait."""
        return len(self._queues)

    def count(self, owner: str) -> int:
        """Returns how many things of an owner wait."""
        return len(self._queues.get(owner, ()))

    def add(self, owner: str, item: _Item) -> None:
        """Adds a thing behind the owner's others."""
        self._queues.setdefault(owner, collections.deque()).append(item)

    def take(self, may: Callable[[str], bool] = lambda _owner: True) -> tuple[str, _Item] | None:
        """Takes the first thing of the owner whose turn it is, among those who `may`; None if there is none."""
        owner = next(filter(may, self._queues), None)
        if owner is None:
            return None
        queue = self._queues.pop(owner)
        item = queue.popleft()
        if queue:
            self._queues[owner] = queue  # at the end: the other owners come first
        return owner, item

    def drop_oldest(self, owner: str) -> _Item:
        """Removes the first thing of an owner who has some, and returns it."""
        item = self._queues[owner][0]
        self.remove(owner, item)
        return item

    def remove(self, owner: str, item: _Item) -> None:
        """Removes a thing that waits."""
        queue = self._queues[owner]
        queue.remove(item)
        if not queue:
            del self._queues[owner]

    def clear(self) -> None:
        """Removes everything."""
        self._queues.clear()
