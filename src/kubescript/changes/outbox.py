"""Notices that wait to be sent, each author's apart."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

from kubescript import rounds

__all__ = ["Notice", "Outbox"]

_MOST_OF_AUTHOR: Final = 10
"""How many notices about one author's plans may wait."""
_MOST_AUTHORS: Final = 100


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice about a plan, as it is sent."""

    plan: str
    body: bytes


class Outbox:
    """The notices that wait. Used by many threads."""

    def __init__(self) -> None:
        self._waiting: rounds.Rounds[Notice] = rounds.Rounds()
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, author: str, notice: Notice) -> Notice | None:
        """Keeps a notice. Returns one that is dropped since too many wait."""
        # Attack: one caller makes plan after plan, so that no notice of another one's is ever sent.
        with self._changed:
            if author not in self._waiting and self._waiting.owners == _MOST_AUTHORS:
                return notice
            is_full = self._waiting.count(author) == _MOST_OF_AUTHOR
            dropped = self._waiting.drop_oldest(author) if is_full else None
            self._waiting.add(author, notice)
            self._changed.notify()
        return dropped

    def take(self) -> Notice | None:
        """Waits for a notice, and returns it; the authors take turns. None: the outbox is closed, and nothing waits."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) > 0 or self._is_closed)
            found = self._waiting.take()
        if found is None:
            return None
        _, notice = found
        return notice

    def close(self) -> None:
        """Lets `take` end once nothing waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
