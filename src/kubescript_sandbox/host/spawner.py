"""Keeps a fork server running: requests confined processes from it, and restarts it when it has died. The executor uses
one for workers, and redaction another for maskers.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

from kubescript_sandbox import errors
from kubescript_sandbox.host.fork_server import ForkServer
from kubescript_sandbox.host.worker import Worker

__all__ = ["Spawner", "Worker", "command"]


def command(module: str) -> tuple[str, ...]:
    """Returns the command line of a fork server whose workers run scripts of this module's guest."""
    # -I makes Python ignore PYTHON* variables, the user's packages and the current folder.
    return (sys.executable, "-I", "-m", "kubescript_sandbox.guest.launch", module)


class Spawner:
    """Keeps one fork server running."""

    def __init__(self, command: Sequence[str], *, reads: bool = False) -> None:
        """`command` starts the fork server. With `reads`, the fork server waits at its standard input for the bytes
        that are passed to `give`."""
        self._command = command
        self._reads = reads
        self._given: bytes | None = None
        self._lock = threading.Lock()
        self._server: ForkServer | None = None
        self._closed = False

    def start(self) -> None:
        """Starts the fork server."""
        # Called before settings or credentials are read, so that the fork server holds no secret.
        if sys.platform != "linux":
            return  # `spawn` raises the error that says why
        with self._lock:
            waits = self._reads and self._given is None
            self._server = ForkServer(self._command, self._given, waits=waits)

    def warm_up(self) -> None:
        """Has the fork server prepare for its first worker while the host starts, which takes a third of a second of
        processor time. With a single processor, this waits until the first worker is requested."""
        if sys.platform != "linux" or len(os.sched_getaffinity(0)) == 1:
            return
        if self._server is None:
            self.start()
        with self._lock:
            if self._server is not None:
                self._server.warm_up()

    def give(self, given: bytes) -> None:
        """Sets what each fork server reads from its standard input."""
        with self._lock:
            self._given = given
            if self._server is not None:
                self._server.give(given)

    def close(self) -> None:
        """Ends the fork server and with it every worker."""
        with self._lock:
            self._closed = True
            server, self._server = self._server, None
        if server is not None:
            server.close()

    def spawn(self, memory_bytes: int, cpu_seconds: int) -> Worker:
        """Returns a new worker, which may still be starting. Raises WorkerError when no fork server can be started."""
        if sys.platform != "linux":
            raise errors.WorkerError(
                f"scripts run on Linux only: {sys.platform} has no seccomp, Landlock or namespaces to confine them",
                code="worker.lockdown",
                remedy="run kubescript in a Linux container or virtual machine (Docker Desktop, WSL 2)",
            )
        with self._lock:
            if self._server is None or not self._server.alive:
                self._server = self._restart()
            worker = self._server.fork(memory_bytes, cpu_seconds)
            if worker is None:  # the fork server died between the check and the request
                self._server = self._restart()
                worker = self._server.fork(memory_bytes, cpu_seconds)
        if worker is None:
            raise errors.WorkerError("no sandbox process could be started", code="worker.spawn")
        return worker

    @property
    def pid(self) -> int:
        """The process id of the fork server; 0 when there is none."""
        server = self._server
        return server.process.pid if server is not None else 0

    def _restart(self) -> ForkServer:
        if self._closed:
            raise errors.WorkerError("the server is shutting down", code="worker.spawn")
        if self._server is not None:
            self._server.close()
        return ForkServer(self._command, self._given)
