"""The clusters found so far, as one source publishes them."""

from __future__ import annotations

import itertools
import logging
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from kubescript.fleet import member
from kubescript.output import sanitizing

__all__ = ["Fleet", "Source"]

log = logging.getLogger(__name__)

_AGAIN_S: Final = 5.0
"""Seconds before a source that failed is started again."""
_JOIN_S: Final = 2.0
_SHOWN: Final = 20
"""How many names one line of the log has."""


class Source(Protocol):
    """Where clusters are found."""

    @property
    def problem(self) -> str:
        """Why clusters cannot be looked for now; empty if they can."""

    @property
    def is_full(self) -> bool:
        """Whether what would be a cluster is left out because there is too much of it."""

    @property
    def left_out(self) -> int:
        """How many objects, files and contexts make no usable cluster."""

    def watch(self, publish: Callable[[Mapping[str, member.Member]], None], stop: threading.Event) -> None:
        """Publishes all members, and all of them again after each change, until `stop` is set. What cannot be read of
        one member is logged, without its secrets, and the member left out. While the source does not answer, nothing
        is published: the last set stays."""


class Fleet:
    """The found clusters. Safe for use from many threads."""

    def __init__(self, source: Source | None, max_clusters: int) -> None:
        """Without a source, no cluster is ever found."""
        self._source = source
        self._max = max_clusters
        self._members: Mapping[str, member.Member] = MappingProxyType({})
        self._is_cut = False
        """Whether the last set had more than `max_clusters`."""
        self._stop = threading.Event()
        self._published = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kubescript-fleet", daemon=True)

    @property
    def is_on(self) -> bool:
        """Whether clusters are looked for."""
        return self._source is not None

    def start(self) -> None:
        """Starts to look for clusters, in a thread of its own."""
        if self._source is not None:
            self._thread.start()

    @property
    def problem(self) -> str:
        """Why the source cannot be read now; empty if it can."""
        return self._source.problem if self._source is not None else ""

    @property
    def is_ok(self) -> bool:
        """Whether the source can be read, and all of its clusters are offered."""
        return self._source is None or not (self.problem or self._source.is_full or self._is_cut)

    @property
    def left_out(self) -> int:
        """How many objects, files and contexts make no usable cluster."""
        return self._source.left_out if self._source is not None else 0

    def members(self) -> Mapping[str, member.Member]:
        """Returns the members by name, sorted. The mapping never changes; a new set is a new mapping."""
        return self._members

    def wait(self, timeout_s: float) -> bool:
        """Waits for the first set; returns whether it has come."""
        return self._published.wait(timeout_s)

    def close(self) -> None:
        """Stops looking for clusters."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_JOIN_S)

    def _run(self) -> None:
        assert self._source is not None
        while not self._stop.is_set():
            try:
                self._source.watch(self._publish, self._stop)
            except Exception as error:  # the last set stays in force
                # Without the error's text, which may quote a token that was read.
                where = "".join(traceback.format_tb(error.__traceback__))
                kind = type(error).__name__
                log.error("the source of clusters failed: %s\n%s", kind, where, extra={"event": "fleet.failed"})  # noqa: TRY400
            self._stop.wait(_AGAIN_S)

    def _publish(self, found: Mapping[str, member.Member]) -> None:
        """Puts a new set in force, and logs who came and who went."""
        names = sorted(found)
        self._is_cut = len(names) > self._max
        if self._is_cut:
            log.warning(
                "%d clusters were found, and fleet.max_clusters is %d: those from %s on are left out",
                len(names), self._max, sanitizing.printable(names[self._max]), extra={"event": "fleet.max"},
            )  # fmt: skip
        before = self._members
        self._members = MappingProxyType({name: found[name] for name in names[: self._max]})
        self._published.set()
        came = self._members.keys() - before.keys()
        went = before.keys() - self._members.keys()
        if came:
            log.info("%d clusters came: %s", len(came), _list_names(came), extra={"event": "fleet.came"})
        if went:
            log.info("%d clusters went: %s", len(went), _list_names(went), extra={"event": "fleet.went"})


def _list_names(names: Iterable[str]) -> str:
    """Returns the first names for a line of the log."""
    shown = [sanitizing.printable(name) for name in itertools.islice(sorted(names), _SHOWN + 1)]
    if len(shown) > _SHOWN:
        shown[_SHOWN] = "…"
    return ", ".join(shown)
