"""Progress notifications to a client while its call runs: the script's own progress, and a heartbeat when there is
none.

Clients give up a call after hearing nothing for a minute or so. `server` starts one Heartbeat for each call whose
client asked for progress.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import anyio

__all__ = ["Heartbeat"]

_Send = Callable[[float, float | None, str], Awaitable[None]]

_SEND_TIMEOUT_S: Final = 1.0
_STEP: Final = 0.001
"""The increase of the progress per heartbeat. The protocol requires an increase, and the script's own progress must
stay larger."""


_MOST: Final = 1e300
"""The largest progress. Attack: a script reports the largest float, and the next larger one is not a number in JSON."""
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)
"""Errors of a client that has gone: the transport ends its call, and the script's record must not blame us."""


class Heartbeat:
    """The progress notifications of one call. Used by one event loop."""

    def __init__(self, send: _Send, every_s: float) -> None:
        self._send = send
        self._every_s = every_s
        self._started = time.monotonic()
        self._last = self._started
        self._done = -math.inf
        self._total: float | None = None
        self._text = ""

    async def report(self, done: float, total: float | None, text: str) -> None:
        """Passes on the script's progress."""
        self._total = total
        self._text = text
        await self._notify(done, text)

    async def beat(self) -> NoReturn:
        """Repeats the last progress whenever nothing was sent for `every_s` seconds, until it is cancelled."""
        while True:
            due = self._last + self._every_s - time.monotonic()
            if due > 0:
                await anyio.sleep(due)
            # Clients give up a call after hearing nothing for a minute or so.
            else:
                seconds = time.monotonic() - self._started
                text = self._text or f"running for {seconds:.0f} s"
                await self._notify(max(self._done, 0), text)

    async def _notify(self, done: float, text: str) -> None:
        done = min(done, _MOST)
        if done <= self._done:  # a script may report the same number twice, or count several things
            # The step is lost in a large number, which has no such digits.
            following = math.nextafter(self._done, math.inf)
            done = max(self._done + _STEP, following)
        self._done = done
        self._last = time.monotonic()
        total = self._total
        if total is not None:
            total = max(total, done)
        # A client that does not read must not delay a script's deadline.
        with anyio.move_on_after(_SEND_TIMEOUT_S), contextlib.suppress(*_GONE):
            await self._send(done, total, text)
