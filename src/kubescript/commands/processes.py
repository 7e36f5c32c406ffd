"""The processes for one server's command lines: a warm fork server per program, and shared places."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Final

from kubescript import concurrency, config
from kubescript.commands import microversions
from kubescript_sandbox import runs
from kubescript_sandbox.host import spawner

__all__ = ["Processes"]

# The host kills a process at its deadline. The kernel's limit matters only if the host fails.
_CPU_MARGIN_S: Final = 5
"""How many processor seconds beyond its deadline a process has."""


class Processes:
    """A starter of processes for all callers. Safe for use from many threads."""

    def __init__(self, settings: config.Settings) -> None:
        self.places = concurrency.Places(
            settings.processes_pool_size,
            settings.sandbox.max_queue,
            shared=settings.knows_callers,
            what="command lines",
            setting="processes_pool_size",
        )
        """The limit on simultaneous processes of both programs."""
        self.microversions = microversions.Known()
        self.strict = settings.strict
        self._lock = threading.Lock()
        self._spawners: dict[config.Route, spawner.Spawner] = {}

    def warm_up(self, toolsets: Sequence[str]) -> None:
        """Starts to load the programs of the toolsets, without waiting for them."""
        # Loading openstackclient takes a second or two.
        for program in config.ROUTES:
            if program in toolsets:
                self._spawner(program).warm_up()

    def start(self, program: config.Route, limits: runs.Limits) -> spawner.Worker:
        """Returns a process that waits for its order. Raises WorkerError."""
        timeout_s = limits.timeout_ms // 1000
        source = self._spawner(program)
        return source.spawn(limits.memory_bytes, timeout_s + _CPU_MARGIN_S)

    def close(self) -> None:
        """Ends all processes, and makes sure that no more are started."""
        self.places.close()
        with self._lock:
            spawners = list(self._spawners.values())
        for one in spawners:
            one.close()

    def _spawner(self, program: config.Route) -> spawner.Spawner:
        """Returns the fork server of a program, which is created when it is first used."""
        with self._lock:
            if program not in self._spawners:
                command = (sys.executable, "-I", "-m", "kubescript.launcher.start", program)
                self._spawners[program] = spawner.Spawner(command)
            return self._spawners[program]
