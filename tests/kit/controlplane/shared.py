"""One API server for all processes of a test run.

The first test that asks starts it, in a process of its own (`python -m tests.kit.controlplane.shared`), which ends with
the run: it watches the process that was typed, so that no kill leaves a server behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kubescript_safety.controlplane import audit, pki
from tests.kit import background, printed
from tests.kit.controlplane import fixture, server
from tests.kit.controlplane.fixture import described

__all__ = ["Shared", "attach"]

_START_S: Final = 120.0
_LOADS: Final[dict[str, tuple[Callable[[Path], None], ...]]] = {
    "broken": (fixture.load,),
    "examples": (fixture.load,),
    "written": (fixture.load,),
    "printed": (fixture.load, described.load, printed.load),
}
"""What is in the servers, by their names; in any other there is nothing."""


class Shared(server.ControlPlane):
    """A control plane that another process runs. It cannot be stopped: other tests use it at the same time."""

    def __init__(self, told: dict[str, Any]) -> None:
        """`told` is what the process that runs it has written."""
        key = load_pem_private_key(told["authority"].encode(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self.folder = Path(told["folder"])
        self.port = told["port"]
        self.url = told["url"]
        self.kubeconfig = Path(told["kubeconfig"])
        self._authority = pki.Authority(key)
        self._pids = told["pids"]

    def start(self) -> NoReturn:
        raise AssertionError("the server is shared: ask for `own_plane` to start and stop one")

    stop = kill = close = start

    def pids(self) -> list[int]:
        """The process ids of what runs."""
        return list(self._pids)


def attach(name: str, folder: Path, run: int) -> Shared:
    """Returns the server of this name, started if it is the first time. `folder` is the run's own, and `run` the number
    of the process that was typed. `logged` keeps an audit log; `_LOADS` says what is in it."""
    state = folder / f"{name}.json"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not state.exists():
            _start(name, state, run)
    return Shared(json.loads(state.read_text()))


def _start(name: str, state: Path, run: int) -> None:
    log = state.with_suffix(".log")
    pid = background.start("tests.kit.controlplane.shared", name, str(state), str(run), log=log)
    deadline = time.monotonic() + _START_S
    while not state.exists():
        if background.has_ended(pid) or time.monotonic() > deadline:
            raise server.StartError(log.read_text())
        time.sleep(0.02)


def main(name: str, state: Path, run: int) -> None:
    """Runs one server until the process `run` ends."""
    keeper = os.pidfd_open(run)
    flags = audit.Log(state.parent).flags() if name == "logged" else ()
    with server.ControlPlane(flags) as plane:
        for load in _LOADS.get(name, ()):
            load(plane.kubeconfig)
        told = {
            "authority": plane.authority_key().decode(),
            "folder": str(plane.folder),
            "port": plane.port,
            "url": plane.url,
            "kubeconfig": str(plane.kubeconfig),
            "pids": plane.pids(),
        }
        pki.write_private(state.with_suffix(".new"), json.dumps(told).encode())
        state.with_suffix(".new").rename(state)
        select.select([keeper], [], [])


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
