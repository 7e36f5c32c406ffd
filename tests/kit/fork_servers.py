"""Fork servers of workers and maskers that the applications and commands of one test process share: each start of one
costs 0.2 to 0.4 s of processor time."""

from __future__ import annotations

import atexit
import contextlib
import functools
import threading
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar, Final

import msgspec

# By name: `commands` puts another class in its place while a command runs.
from kubescript import app, config, programs
from kubescript_masking.wire import masking
from kubescript_sandbox.host.spawner import Spawner, Worker

__all__ = ["Maskers", "open_application", "workers"]

_MOST: Final = 3
"""Servers that stay though nobody uses them, each with settings of its own: 60 MiB each."""


@functools.cache
def workers() -> Spawner:
    """The fork server of workers, which knows nothing of settings: one for all."""
    source = Spawner(programs.WORKER)
    source.start()
    atexit.register(source.close)
    return source


class Maskers(Spawner):
    """Lends maskers of a fork server that has the same settings, and the key of whoever came first."""

    _table: ClassVar = threading.Lock()
    _servers: ClassVar[dict[bytes, Spawner]] = {}
    """By their settings; the one that was asked for last stands last."""
    _users: ClassVar[Counter[bytes]] = Counter()

    def __init__(self) -> None:
        """Starts nothing: which server it is depends on what is given."""
        self._settings: bytes | None = None

    def start(self) -> None:
        """Does nothing."""

    warm_up = start

    def give(self, given: bytes) -> None:
        """Chooses the server, or starts it."""
        told = msgspec.json.decode(given, type=masking.Settings)
        settings = msgspec.json.encode(msgspec.structs.replace(told, key=b""))
        with self._table:
            self._settings = settings
            self._users[settings] += 1
            server = self._servers.pop(settings, None)
            if server is None:
                server = Spawner(programs.MASKER)
                server.give(given)
                atexit.register(server.close)
            self._servers[settings] = self._lender = server
            unused = [each for each in self._servers if not self._users[each]]
            for each in unused[:-_MOST]:
                self._servers.pop(each).close()

    def close(self) -> None:
        """Gives it back."""
        with self._table:
            if self._settings is not None:
                self._users[self._settings] -= 1
                self._settings = None

    def spawn(self, memory_bytes: int, cpu_seconds: int) -> Worker:
        """Forks a masker there."""
        return self._lender.spawn(memory_bytes, cpu_seconds)

    @property
    def pid(self) -> int:
        """The process of the server."""
        return self._lender.pid


@contextlib.contextmanager
def open_application(settings: config.Settings) -> Iterator[app.Application]:
    """An application with these settings."""
    with app.opened(settings, workers(), Maskers()) as application:
        yield application
