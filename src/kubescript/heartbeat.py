"""What a client hears while its call runs: the script's own progress, and a heartbeat when there is none.

Clients give up a call of which they have heard nothing for a minute or so. `server` starts one Heartbeat for each call
whose client asked for progress.
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
"""How much the progress rises with a heartbeat. It must rise, by the protocol, and the script's own must stay above."""


_MOST: Final = 1e300
"""Attack: a script reports the largest float, and the one above it is no number of JSON."""
_GONE: Final = (anyio.BrokenResourceError, anyio.ClosedResourceError)
"""A client that has gone: what ends its call is the transport, and the script's record must not say that we failed."""


class Heartbeat:
    """The progress notifications of one call. One event loop uses it."""

    def __init__(self, send: _Send, every_s: float) -> None:
        self._send = send
        self._every_s = every_s
        self._started = self._last = time.monotonic()
        self._done = -math.inf
        self._total: float | None = None
        self._text = ""

    async def report(self, done: float, total: float | None, text: str) -> None:
        """Passes the script's progress on."""
        self._total = total
        self._text = text
        await self._notify(done, text)

    async def beat(self) -> NoReturn:
        """Repeats the last progress whenever the client has heard nothing for so long, until it is cancelled."""
        while True:
            due = self._last + self._every_s - time.monotonic()
            if due > 0:
                await anyio.sleep(due)
            else:
                seconds = time.monotonic() - self._started
                await self._notify(max(self._done, 0), self._text or f"running for {seconds:.0f} s")

    async def _notify(self, done: float, text: str) -> None:
        done = min(done, _MOST)
        if done <= self._done:  # a script may report the same number twice, or count several things
            done = max(self._done + _STEP, math.nextafter(self._done, math.inf))
        self._done = done
        self._last = time.monotonic()
        total = None if self._total is None else max(self._total, done)
        # A client that does not read must not hold up a script's deadline.
        with anyio.move_on_after(_SEND_TIMEOUT_S), contextlib.suppress(*_GONE):
            await self._send(done, total, text)
