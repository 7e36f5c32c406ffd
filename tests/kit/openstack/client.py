"""Runs command lines of openstackclient as the product does, and as the plain command does.

Stands where the confined process of the product will stand: same order, same exit codes, same pipes.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from kubescript.wire import orders
from kubescript_safety.controlplane import startable
from tests.kit import paths
from tests.kit.openstack import warm

__all__ = ["Client"]

ROOT: Final = paths.ROOT


class Client(startable.Startable):
    """One warm process: `ours`, or `plain`."""

    def __init__(self, kind: str, *, environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> None:
        """`environment` and `folder` are what a hostile surrounding would be."""
        self._kind = kind
        self._environment = dict(environment or {})
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def start(self) -> None:
        """Start the process; it warms up meanwhile."""
        kept = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.kit.openstack.warm", self._kind],
            cwd=self._folder,
            env={**kept, **self._environment, "LC_ALL": "C.UTF-8", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            assert self._process.stdin and self._process.stdout
            self._process.stdin.close()
            self._process.wait(30)
            self._process.stdout.close()

    def __call__(
        self,
        line: str | list[str],
        clouds: str,
        *,
        secure: str = "",
        allow_write: bool = False,
        allowed: Iterable[str] = (),
        microversions: Mapping[str, str] | None = None,
    ) -> warm.Answer:
        """Run one command line, without the leading `openstack`."""
        arguments = shlex.split(line) if isinstance(line, str) else line
        order = orders.OpenStackOrder(
            arguments, clouds, secure, "test", dict(microversions or {}), list(allowed), allow_write, []
        )
        assert self._process and self._process.stdin and self._process.stdout
        with self._turn:
            self._process.stdin.write(msgspec.json.encode(order) + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        return msgspec.json.decode(answer, type=warm.Answer)
