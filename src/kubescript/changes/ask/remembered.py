"""What is remembered of clients between their calls, while a person decides about a plan. `elicitation` asks here."""

from __future__ import annotations

import contextlib
import functools
import json
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import anyio

from kubescript import errors, types
from kubescript.transports import retained

__all__ = ["Remembered", "measure"]

_MAX_ANSWERS: Final = 64
"""Answers that are kept while a client asks. A client that never comes back must not fill the memory."""
_MAX_SESSIONS: Final = 1_000
"""Sessions whose plans are decided elsewhere. Attack: ever other sessions, each of which makes one plan."""
_MOST_APPLIED: Final = 4
"""Plans of one caller that are applied at the same time. Attack: plans for a cluster that does not answer, in all
threads that apply plans."""


def measure(answer: types.Answer) -> int:
    """Returns the bytes that an answer takes in memory."""
    # Attack: one emoji, which makes each character of its text four bytes.
    return sys.getsizeof(answer.text) + len(json.dumps(answer.structured))


class Remembered:
    """What calls of one caller have left. One event loop uses it."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, tuple[types.Answer, Callable[[], None]]] = OrderedDict()
        """By plans, the oldest first, each with what stops counting it."""
        self._sessions: OrderedDict[str, None] = OrderedDict()
        """The one that has waited longest first."""
        self.applying = anyio.CapacityLimiter(_MOST_APPLIED)
        """Lets the caller's plans be applied, a few at the same time."""

    def keep(self, plan: str, answer: types.Answer, budget: retained.Budget | None) -> None:
        """Keeps what a script has answered whose call ends with a question; `budget` is the caller's, over HTTP."""
        while len(self._answers) >= _MAX_ANSWERS:
            self._forget(next(iter(self._answers)))
        if budget is None:
            self._answers[plan] = answer, lambda: None
            return
        with contextlib.suppress(errors.Busy):  # the client is told what became of the plan all the same
            kept = budget.keep(measure(answer), functools.partial(self._answers.pop, plan))
            self._answers[plan] = answer, functools.partial(budget.forget, kept)

    def take(self, plan: str) -> types.Answer | None:
        """Returns what was kept, once."""
        return self._forget(plan) if plan in self._answers else None

    def wait(self, session: str) -> None:
        """Notes that a plan of this session is decided elsewhere."""
        self._sessions[session] = None
        self._sessions.move_to_end(session)
        if len(self._sessions) > _MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def is_waiting(self, session: str) -> bool:
        """Whether there was such a plan."""
        return session in self._sessions

    def _forget(self, plan: str) -> types.Answer:
        answer, forget = self._answers.pop(plan)
        forget()
        return answer
