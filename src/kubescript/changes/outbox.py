"""Notices that wait to be sent, each author's apart."""

from __future__ import annotations

import collections
import threading
from dataclasses import dataclass
from typing import Final

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
        self._of_authors: collections.OrderedDict[str, collections.deque[Notice]] = collections.OrderedDict()
        """The notices of each author, whose turn is next first."""
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, author: str, notice: Notice) -> Notice | None:
        """Keeps a notice. Returns one that is dropped since too many wait."""
        # Attack: one caller makes plan after plan, so that no notice of another one's is ever sent.
        with self._changed:
            own = self._of_authors.get(author, collections.deque())
            if not own and len(self._of_authors) == _MOST_AUTHORS:
                return notice
            dropped = own.popleft() if len(own) == _MOST_OF_AUTHOR else None
            own.append(notice)
            self._of_authors[author] = own
            self._changed.notify()
        return dropped

    def take(self) -> Notice | None:
        """Waits for a notice, and returns it; the authors take turns. None: the outbox is closed, and nothing waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._of_authors or self._is_closed)
            if not self._of_authors:
                return None
            author, own = self._of_authors.popitem(last=False)
            notice = own.popleft()
            if own:
                self._of_authors[author] = own
        return notice

    def close(self) -> None:
        """Lets `take` end once nothing waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
