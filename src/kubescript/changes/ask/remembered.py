"""State that one replica keeps for a caller between calls. All that another replica needs is in the store."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from typing import Final

import anyio

from kubescript import types

__all__ = ["Remembered", "measure"]

# Attack: endless new sessions each make one plan.
_MAX_SESSIONS: Final = 1_000
"""The maximum number of sessions whose plans are decided elsewhere."""
# Attack: plans for a cluster that does not answer would occupy all threads that apply plans.
_MOST_APPLIED: Final = 4
"""How many plans of one caller are applied at the same time."""


def measure(answer: types.Answer) -> int:
    """Returns how many bytes an answer takes in memory."""
    # Attack: one emoji makes each character of its text take four bytes.
    text = sys.getsizeof(answer.text)
    structured = json.dumps(answer.structured)
    return text + len(structured)


class Remembered:
    """State that one caller's calls have left behind. Used by one event loop."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, None] = OrderedDict()
        """Waiting sessions, the longest-waiting first."""
        self.applying = anyio.CapacityLimiter(_MOST_APPLIED)
        """Limits how many of the caller's plans are applied at the same time."""
        self.looks_from = 0.0
        """From when on the store is looked at again for news, on the clock `time.monotonic`; it has failed before."""

    def wait(self, session: str) -> None:
        """Notes that a plan of this session is decided elsewhere."""
        self._sessions[session] = None
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def is_waiting(self, session: str) -> bool:
        """Says whether the session had a plan that is decided elsewhere."""
        return session in self._sessions
