"""State that is kept for clients between their calls, while a person decides on a plan. `elicitation` uses it."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import anyio

from kubescript import errors, types
from kubescript.transports import retained

__all__ = ["Remembered", "measure"]

# A client that never returns with an answer must not fill the memory.
_MAX_ANSWERS: Final = 64
"""How many answers are kept at most while their clients ask."""
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
        self._answers: OrderedDict[str, tuple[types.Answer, Callable[[], None]]] = OrderedDict()
        """Maps each plan to its answer, and to the function that stops counting the answer; oldest first."""
        self._sessions: OrderedDict[str, None] = OrderedDict()
        """Waiting sessions, the longest-waiting first."""
        self.applying = anyio.CapacityLimiter(_MOST_APPLIED)
        """Limits how many of the caller's plans are applied at the same time."""

    def keep(self, plan: str, answer: types.Answer, budget: retained.Budget | None) -> None:
        """Keeps the answer of a script whose call ends with a question; `budget` is that of the caller, over HTTP."""
        while len(self._answers) >= _MAX_ANSWERS:
            oldest = next(iter(self._answers))
            self._forget(oldest)
        if budget is None:
            self._answers[plan] = answer, lambda: None
            return
        size = measure(answer)
        # If there is no room for the answer, the client is still told the plan's outcome.
        with contextlib.suppress(errors.Busy):
            kept = budget.keep(size, lambda: self._answers.pop(plan))
            self._answers[plan] = answer, lambda: budget.forget(kept)

    def take(self, plan: str) -> types.Answer | None:
        """Returns the kept answer, but only once."""
        if plan not in self._answers:
            return None
        return self._forget(plan)

    def wait(self, session: str) -> None:
        """Notes that a plan of this session is decided elsewhere."""
        self._sessions[session] = None
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def is_waiting(self, session: str) -> bool:
        """Says whether the session had a plan that is decided elsewhere."""
        return session in self._sessions

    def _forget(self, plan: str) -> types.Answer:
        answer, forget = self._answers.pop(plan)
        forget()
        return answer
