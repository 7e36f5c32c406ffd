"""The places of a kind's objects: those that are wanted have them, then the oldest ones, whatever comes later."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, Generic, TypeVar

from kubescript.fleet.objects import Key

__all__ = ["Places"]

_SPARE: Final = 100
"""Objects beyond the places, of 64 KiB each. To look for the newest one at each of 100,000 would take minutes."""
_T = TypeVar("_T")


class Places(Generic[_T]):
    """As many objects as there are places, and why others cannot be used. Not safe for use from several threads."""

    def __init__(self, most: int, wanted: Callable[[], Collection[Key] | None] = frozenset) -> None:
        """`most`: how many objects are kept, and how many others are remembered by what is wrong with them. `wanted`
        returns those that come before all others, as of now."""
        self.unread: dict[Key, str] = {}
        self.surplus = ""
        """Which objects have no place, in words; empty while there is one for each."""
        self._most = most
        self._wanted = wanted
        self._objects: dict[Key, tuple[str, _T]] = {}

    def objects(self) -> Mapping[Key, _T]:
        """Returns a copy of the objects."""
        return {key: made for key, (_, made) in self._objects.items()}

    def add(self, key: Key, created: str, made: _T) -> None:
        """Adds an object with the time of its creation; after the last one of several, `prune` has to be called."""
        self._objects[key] = created, made
        if len(self._objects) > self._most + _SPARE:
            self.prune()

    def refuse(self, key: Key, problem: str) -> None:
        """Remembers why an object cannot be used."""
        if len(self.unread) < self._most:
            self.unread[key] = problem

    def remove(self, key: Key) -> None:
        """Forgets an object."""
        self._objects.pop(key, None)
        self.unread.pop(key, None)

    def prune(self) -> None:
        """Leaves out those that are too many."""
        if len(self._objects) <= self._most:
            return
        # Attack: whoever may write in one namespace makes as many objects as there are places, first by name.
        wanted = self._wanted() or ()
        ranked = sorted(self._objects, key=lambda key: (key not in wanted, self._objects[key][0], key))
        self.surplus = f"the newest, such as {ranked[self._most]}"
        self._objects = {key: self._objects[key] for key in ranked[: self._most]}
