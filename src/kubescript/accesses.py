"""The clusters that one caller has open, each with its own connection, broker and policy.

A cluster is opened when a script first names it, and a found one is closed when it has been idle for long, is gone, or
is one of too many.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from kubescript import config
from kubescript.broker import broker
from kubescript.cluster import base
from kubescript.fleet import directory
from kubescript.policy import rule_checks
from kubescript.sources import door

__all__ = ["ClusterAccess", "Opened"]

_MAX_OPEN: Final = 256
"""How many clusters are kept open for one caller; each keeps its certificates and discovery, about 100 KiB."""
_MOST_OPEN: Final = 4_096
"""The same for all callers together: 450 MiB."""
_IDLE_S: Final = 300.0
"""Seconds after its last call that a found cluster is kept open."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One cluster, and the only access to it."""

    cluster: base.Cluster
    broker: broker.Broker
    denials: rule_checks.Denials | None = None
    """Checks the cluster's rules after its first answer."""
    settings: config.Settings | None = None
    """The settings of a found cluster; None: those of its context."""
    sources: door.Door | None = None
    """The sources of metrics, alerts, logs and traces; None: there are none."""
    release: Callable[[], object] = bool
    """Closes what no call uses; calls that are under way end as they would."""

    def close(self) -> None:
        """Aborts every call, and closes the connections."""
        self.cluster.close()
        if self.sources is not None:
            self.sources.close()
        if self.denials is not None:
            self.denials.close()


_Access = TypeVar("_Access", bound=ClusterAccess)


@dataclass(slots=True)
class _Held(Generic[_Access]):
    """An open cluster."""

    entry: directory.Entry
    access: _Access
    used: float


class _Together:
    """The found clusters that all callers have open, the one used longest ago first. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._used: OrderedDict[tuple[int, str], weakref.ref[Opened[Any]]] = OrderedDict()

    def use(self, opened: Opened[Any], name: str) -> None:
        """Notes that a caller uses a cluster now. If there are too many, those used longest ago are closed."""
        key = id(opened), name
        with self._lock:
            self._used[key] = weakref.ref(opened)
            self._used.move_to_end(key)
        while oldest := self._take_oldest():
            (_, its_name), caller = oldest
            other = caller()
            if other is not None:
                other.forget(its_name)

    def remove(self, opened: Opened[Any], name: str) -> None:
        """Notes that a cluster is closed."""
        with self._lock:
            self._used.pop((id(opened), name), None)

    def _take_oldest(self) -> tuple[tuple[int, str], weakref.ref[Opened[Any]]] | None:
        with self._lock:
            return self._used.popitem(last=False) if len(self._used) > _MOST_OPEN else None


_TOGETHER: Final = _Together()


class Opened(Mapping[str, _Access]):
    """The clusters that a caller may name now, the default one first; each is opened when it is first asked for."""

    def __init__(self, known: directory.Directory, open_access: Callable[[directory.Entry], _Access]) -> None:
        """`open_access` makes the access without calling the cluster."""
        self._known = known
        self._open = open_access
        self._lock = threading.Lock()
        self._held: OrderedDict[str, _Held[_Access]] = OrderedDict()
        """The open clusters, the one used last at the end."""

    def __getitem__(self, name: str) -> _Access:
        entry = self._known.find(name)
        if entry is None:
            raise KeyError(name)
        with self._lock:
            held = self._held.get(name)
            if held is None or not held.entry.is_as(entry):
                self._drop(name)
                self._drop_idle()
                held = _Held(entry, self._open(entry), 0.0)
                self._held[name] = held
            held.used = time.monotonic()
            self._held.move_to_end(name)
        # Without the lock: another caller's clusters may be closed now.
        if entry.member is not None:
            _TOGETHER.use(self, name)
        return held.access

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._known.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._known.list_names())

    def __len__(self) -> int:
        return len(self._known.list_names())

    def close(self) -> None:
        """Closes all open clusters, even if closing one fails."""
        with self._lock:
            held = dict(self._held)
            self._held.clear()
        for name in held:
            _TOGETHER.remove(self, name)
        _close_all([each.access for each in held.values()])

    def forget(self, name: str) -> None:
        """Closes a cluster, which the next call opens anew; calls that are under way end as they would."""
        with self._lock:
            self._drop(name)

    def _drop_idle(self) -> None:
        """Closes found clusters that have been idle for long, that are gone, or that are too many."""
        bound = time.monotonic() - _IDLE_S
        for name, held in list(self._held.items()):
            # What the settings list stays: a saved cluster may have been unpacked for it.
            is_found = held.entry.member is not None
            if is_found and (held.used < bound or len(self._held) >= _MAX_OPEN or self._known.find(name) is None):
                self._drop(name)

    def _drop(self, name: str) -> None:
        """Forgets a cluster that the next call opens anew."""
        held = self._held.pop(name, None)
        if held is not None:
            _TOGETHER.remove(self, name)
            held.access.release()


def _close_all(accesses: list[_Access]) -> None:
    """Closes each, even if closing another one fails."""
    with contextlib.ExitStack() as closing:
        for access in accesses:
            closing.callback(access.close)
