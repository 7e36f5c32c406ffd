"""Shared state of a server's plans: the store, and a thread that continues plans whose server died while applying
them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from kubescript import config, errors

if TYPE_CHECKING:
    from kubescript.changes.store import record, store

__all__ = ["Keeper", "Notifier"]

log = logging.getLogger(__name__)

_LOOK_S: Final = 30.0
"""How many seconds pass between two searches for plans whose server has died."""


class _Plans(Protocol):
    """All plans, under the settings of one moment."""

    def take_over(self) -> None:
        """Continues plans whose server died, without waiting for them. Raises PlanError."""

    def forget(self) -> None:
        """Forgets old plans. Raises PlanError."""


class Notifier(Protocol):
    """See `notices.Notifier`."""

    def tell(self, found: record.Record, link: str) -> None:
        """Sends a notice about a plan soon. Raises nothing."""

    def close(self) -> None:
        """Sends what waits."""


class Keeper:
    """The store of one server's plans, which is opened when it is first used. Safe for use from many threads."""

    def __init__(self, settings: config.Plans, notifier: Notifier | None = None) -> None:
        """`notifier` tells a team's chat of plans."""
        self._settings = settings
        self._notifier = notifier
        self.page = ""
        """The address of the page for approvals of a server whose callers are known; empty if there is none."""
        self._lock = threading.Lock()
        self._store: store.Store | None = None
        self._plans: list[_Plans] = []
        self._recovers = False
        self._closed = threading.Event()
        self.waiting = 0
        """How many plans of all servers of the store wait for a person, when they were last counted."""

    @property
    def is_closed(self) -> bool:
        """Whether the server is ending."""
        return self._closed.is_set()

    def store(self) -> store.Store:
        """Returns the store. Raises PlanError."""
        # SQLAlchemy takes 0.3 s to import, and most servers never make a plan.
        from kubescript.changes.store import store

        with self._lock:
            if self._store is None:
                self._store = store.Store(self._settings.store)
            return self._store

    def link(self, plan_id: str) -> str:
        """Returns the lasting address of a plan's page; an empty string if there is none."""
        return f"{self.page}/plans/{plan_id}" if self.page else ""

    def tell(self, found: record.Record) -> None:
        """Tells a team's chat of a plan that waits for a person, or has ended; later, and without raising anything."""
        if self._notifier is not None:
            self._notifier.tell(found, self.link(found.plan.id))

    def recover(self, plans: _Plans) -> None:
        """Repeatedly continues plans whose server died; a separate thread searches for them."""
        with self._lock:
            if plans in self._plans:
                return
            self._plans.append(plans)
            is_first, self._recovers = not self._recovers, True
        # The search is repeated because a server that starts right after another one's death comes before that server's
        # lease has run out.
        if is_first:
            threading.Thread(target=self._recover, name="kubescript-plans", daemon=True).start()

    def leave(self, plans: _Plans) -> None:
        """Stops the search under these settings."""
        with self._lock:
            if plans in self._plans:
                self._plans.remove(plans)

    def close(self) -> None:
        """Closes the store."""
        self._closed.set()
        if self._notifier is not None:
            self._notifier.close()
        with self._lock:
            if self._store is not None:
                self._store.close()

    def _recover(self) -> None:
        first = self._list_known()
        if first:
            _log_failure(first[0].forget)
        while True:
            for plans in self._list_known():
                _log_failure(plans.take_over)
            _log_failure(self._count_waiting)
            if self._closed.wait(_LOOK_S):
                return

    def _count_waiting(self) -> None:
        self.waiting = self.store().count_pending()

    def _list_known(self) -> list[_Plans]:
        with self._lock:
            return list(self._plans)


def _log_failure(work: Callable[[], None]) -> None:
    """Does work in the background, and logs its failure."""
    try:
        work()
    except errors.KubescriptError as error:
        log.warning("plans: %s", error.message, extra=error.log_fields)
