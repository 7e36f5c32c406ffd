"""Connections to PostgreSQL that wait for it no longer than a whole transaction may take.

PostgreSQL's own limits, and those of TCP, do not end a wait for one that hangs: a machine that is paused, a disk that
stalls, a pool in between.
"""

from __future__ import annotations

import contextvars
import math
import time
from typing import Any, Final, TypeVar

import psycopg
from psycopg import abc

__all__ = ["connect", "set_deadline"]

_Result = TypeVar("_Result")
_LOOK_S: Final = 0.1
"""Seconds between two looks whether the process is interrupted."""
_GIVES_UP: Final = contextvars.ContextVar("gives_up", default=-math.inf)
"""When the present transaction has failed, on the monotonic clock."""


def set_deadline(patience_s: float) -> None:
    """Has the transaction that begins now in this thread fail if it takes longer."""
    _GIVES_UP.set(time.monotonic() + patience_s)


def connect(**options: Any) -> psycopg.Connection[Any]:
    """Returns a new connection, unless the deadline has passed. Raises OperationalError."""
    if _count_left() == 0:
        raise _late()
    return _Connection.connect(**options)


class _Connection(psycopg.Connection[Any]):
    """A connection that is closed when the present transaction takes too long."""

    def wait(self, gen: abc.PQGen[_Result], interval: float = _LOOK_S, timeout: float | None = None) -> _Result:
        """Waits for an answer until the deadline. Raises OperationalError."""
        left_s = _count_left()
        try:
            return super().wait(gen, interval, left_s if timeout is None else min(left_s, timeout))
        except psycopg.OperationalError:
            if _count_left() > 0:
                raise
        # Its answer, should it come, would be taken for that to the next question.
        self.close()
        raise _late()


def _count_left() -> float:
    """Returns how many seconds are left for the present transaction."""
    return max(0.0, _GIVES_UP.get() - time.monotonic())


def _late() -> psycopg.OperationalError:
    return psycopg.OperationalError("it does not answer in time")
