"""How a server ends that has replicas: a balancer that asks /ready hears of the end while calls are still taken.

`status` answers the probes, and `http_connections.Server` waits before it stops to listen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import anyio

__all__ = ["Ending"]

_TICK_S: Final = 0.1
_TICKS: Final = 50
"""Five seconds, in which a balancer learns from /ready, or from Kubernetes, that a server is about to end."""
_PROBED_S: Final = 60.0
"""Seconds for which a probe of /ready counts; Kubernetes probes every ten."""


class Ending:
    """Whether a server is about to end, and whether a balancer has to hear of it first. Used by one event loop."""

    def __init__(self) -> None:
        self._probed = -_PROBED_S
        self._begun = anyio.Event()

    @property
    def has_begun(self) -> bool:
        """Whether the server is about to end: /ready says so."""
        return self._begun.is_set()

    async def wait(self) -> None:
        """Returns once the server is about to end."""
        await self._begun.wait()

    def note_probe(self) -> None:
        """Notes that something asks /ready."""
        self._probed = time.monotonic()

    async def announce(self, is_forced: Callable[[], bool]) -> None:
        """Begins the end, and returns once balancers know: at once where none has asked /ready lately, or when
        `is_forced` says so."""
        self._begun.set()
        if time.monotonic() - self._probed > _PROBED_S:
            return
        for _ in range(_TICKS):
            if is_forced():
                return
            await anyio.sleep(_TICK_S)
