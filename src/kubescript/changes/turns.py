"""Threads that apply approved plans, of which no author has all."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Callable
from typing import Final

from kubescript import rounds

__all__ = ["Turns"]

log = logging.getLogger(__name__)

_MOST: Final = 32
"""How many plans may be applied at the same time."""
_MOST_OF_AUTHOR: Final = 4


class Turns:
    """The plans that are applied, and those that wait for it. Used by many threads."""

    def __init__(self, apply: Callable[[str], None]) -> None:
        """`apply` applies a plan."""
        self._apply = apply
        self._lock = threading.Lock()
        self._running: collections.Counter[str] = collections.Counter()
        """How many plans of each author are being applied."""
        self._waiting: rounds.Rounds[str] = rounds.Rounds()
        self._plans: set[str] = set()
        """Those that are applied, and those that wait."""

    def add(self, author: str, plan_id: str) -> None:
        """Applies an approved plan in a separate thread, as soon as there is room; one that is here already once."""
        # Attack: an author approves a hundred own plans for a cluster that does not answer.
        with self._lock:
            if plan_id in self._plans:
                return
            self._plans.add(plan_id)
            self._waiting.add(author, plan_id)
            found = self._take() if self._running.total() < _MOST else None
        if found is not None:
            threading.Thread(target=self._run, args=found, name="kubescript-plan").start()

    def _run(self, author: str, plan_id: str) -> None:
        found: tuple[str, str] | None = (author, plan_id)
        while found is not None:
            author, plan_id = found
            try:
                self._apply(plan_id)
            except Exception:  # whatever it is, the place is free again
                log.exception("plan %s: its application has failed", plan_id)
            with self._lock:
                self._running[author] -= 1
                self._plans.remove(plan_id)
                found = self._take()

    def _take(self) -> tuple[str, str] | None:
        """Returns the next plan that may be applied, and its author; None if there is none."""
        found = self._waiting.take(lambda author: self._running[author] < _MOST_OF_AUTHOR)
        if found is not None:
            author, _ = found
            self._running[author] += 1
        return found
