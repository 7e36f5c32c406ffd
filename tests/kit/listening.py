"""The base of the servers that tests start as programs of their own and reach at a port of this machine."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Sequence
from pathlib import Path

import httpx2

from kubescript_safety.controlplane import child, startable
from tests.kit import patience

__all__ = ["Listening"]


class Listening(startable.Startable):
    """One program, which is there when it listens."""

    def __init__(self, command: Sequence[str], log: Path, port: int, ready: str = "") -> None:
        """`log` gets its output; `ready` is the URL that answers 200 once it is ready, for one that listens earlier."""
        self.log = log
        self._child = child.Child(list(command), log)
        self._port = port
        self._ready = ready

    def start(self) -> None:
        """Starts it, and waits until it is ready."""
        self._child.start()
        patience.until(self._is_up, 180)

    def close(self) -> None:
        """Ends it for good."""
        self._child.close()

    def _is_up(self) -> bool:
        assert self._child.pid is not None, self._child.tail()
        return self._is_ready()

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError, httpx2.TransportError):  # it does not listen yet
            if self._ready:
                return httpx2.get(self._ready).status_code == 200
            with socket.create_connection(("127.0.0.1", self._port)):
                return True
        return False
