"""Three replicas of a server for a team behind a real HAProxy, in front of a real API server, with plans in PostgreSQL.

with Replicas(folder, kubeconfig, settings) as replicas:
    callers.connected(replicas.port, token)
    replicas.each[0].kill()
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Final

import httpx2

from kubescript_safety.controlplane import child, startable
from tests.kit import clients, haproxy, patience, people

__all__ = ["Replica", "Replicas"]

_COUNT: Final = 3
_START_S: Final = 120
_END_S: Final = 60


class Replica:
    """One server, on a port of its own; it can be ended or killed, and started again."""

    def __init__(self, folder: Path, name: str, flags: list[str]) -> None:
        self.port = clients.free_port()
        self.log = folder / f"{name}.log"
        self.record = folder / f"{name}.jsonl"
        """Its audit file."""
        environment = {**people.environment(folder), "KUBESCRIPT_AUDIT__FILE": str(self.record)}
        places = [f"{key}={value}" for key, value in environment.items()]
        command = ["env", *places, clients.INSTALLED, *flags, "--transport", "http", "--port", str(self.port)]
        self._child = child.Child(command, self.log)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """Its process while it runs."""
        process = self._child.pid
        assert process is not None, self._child.tail()
        return process

    def start(self) -> None:
        """Starts it, without waiting for it."""
        self._child.start()

    def wait(self) -> None:
        """Waits until it is ready."""
        patience.until(self._is_ready, _START_S)

    def restart(self) -> None:
        """Ends it, and starts it again, as a rolling update does."""
        self.end()
        self.start()
        self.wait()

    def end(self) -> None:
        """Ends it as Kubernetes does, and waits."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Kills it, as a crash would; its other processes have to notice."""
        self._send(signal.SIGKILL)

    def close(self) -> None:
        """Ends it for good."""
        self._child.close()

    @property
    def complaints(self) -> list[str]:
        """What it has logged beside news."""
        lines = [line for line in self.log.read_text("utf-8", "replace").splitlines() if line]
        return [line for line in lines if not line.startswith("{") or json.loads(line)["level"] != "info"]

    def _send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)
        patience.until(lambda: self._child.pid is None, _END_S)

    def _is_ready(self) -> bool:
        assert self._child.pid is not None, self._child.tail()
        with contextlib.suppress(httpx2.HTTPError):
            return httpx2.get(f"{self.url}/ready", timeout=10).status_code == 200
        return False


class Replicas(startable.Startable):
    """Three replicas and their balancer."""

    def __init__(self, folder: Path, kubeconfig: Path, settings: str, http: str = "") -> None:
        """`settings` are those of all replicas, and `http` those of the table of this name."""
        self.port = clients.free_port()
        """Of the balancer."""
        self.flags = people.flags(folder, kubeconfig, f'{settings}\n[http]\nurl = "{self.url}/mcp"\n{http}')
        flags = ["--toolsets", "code", *self.flags]
        self.each = [Replica(folder, f"replica-{number}", flags) for number in range(_COUNT)]
        self._balancer = haproxy.Balancer(folder, self.port, [replica.port for replica in self.each])

    @property
    def url(self) -> str:
        """Where clients find them."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts all, and waits until they are ready."""
        for replica in self.each:
            replica.start()
        for replica in self.each:
            replica.wait()
        self._balancer.start()

    def close(self) -> None:
        """Ends all for good."""
        self._balancer.close()
        for replica in self.each:
            replica.close()
