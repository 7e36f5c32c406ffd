"""The clusters a script may name, and a `k8s` for each, made when it is asked for.

Only names are here. Each `k8s` says with every call which cluster it is for, and the host decides whether there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kubescript.worker.sdk import names

__all__ = ["Contexts"]

T = TypeVar("T")


class Contexts(Generic[T]):
    """By name, the default one first. Names are exact: two clusters may differ in case only."""

    def __init__(self, default: T, make: Callable[[str], T]) -> None:
        self._make = make
        self._default = default
        self.names: tuple[str, ...] = ("",)
        self._made: dict[str, T] = {}

    def announce(self, known: tuple[str, ...]) -> None:
        """What the host says there is, before the script begins."""
        self.names = known or ("",)
        self._made = {}

    @property
    def several(self) -> bool:
        """Whether a call must say which it is for."""
        return len(self.names) > 1

    def get(self, name: object = None) -> T:
        """The cluster of that name; None is the default one. Raises ValueError that names the nearest."""
        if name is None or name == self.names[0]:
            return self._default
        if not isinstance(name, str) or name not in self.names:
            raise ValueError(f"there is no context {name!r}; {names.suggestion(str(name), self.names)}")
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]
