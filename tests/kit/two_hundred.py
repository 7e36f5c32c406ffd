"""A fleet of two hundred names, behind which there are a few real API servers with pods, and a gate that breaks some."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.kit import fleets, gate
from tests.kit.controlplane import bulk
from tests.kit.controlplane.server import ControlPlane

__all__ = ["NAMES", "PODS", "Fleet"]

NAMES: Final = 200
PODS: Final = 100
"""In each API server, of 10 KB each as served: 200 MB in the whole fleet."""


class Fleet:
    """The API servers, the gate, and a folder with a kubeconfig for each name: `c000`, `c001`, …"""

    def __init__(self, folder: Path, servers: int, broken: Mapping[gate.Behaviour, Sequence[int]]) -> None:
        """`broken` has the numbers of the names that behave otherwise than API servers do."""
        self.folder = folder
        self.planes = [ControlPlane() for _ in range(servers)]
        self._behaviours = {number: behaviour for behaviour, numbers in broken.items() for number in numbers}
        self.gate = gate.Gate(self.planes[0].folder)
        self.ports: dict[str, int] = {}
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as opened, ThreadPoolExecutor(len(self.planes)) as pool:
            opened.enter_context(self.gate)
            list(pool.map(opened.enter_context, self.planes))
            list(pool.map(lambda plane: bulk.load(plane.kubeconfig, PODS), self.planes))
            for number in range(NAMES):
                self.add(f"c{number:03}", self._behaviour(number), self.plane(number))
            self._opened = opened.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def named(self, *behaviours: gate.Behaviour) -> list[str]:
        """The names that behave so."""
        return [f"c{number:03}" for number in range(NAMES) if self._behaviour(number) in behaviours]

    def plane(self, number: int) -> ControlPlane:
        """The API server behind a name. What the gate answers itself is signed by the first one's authority."""
        return self.planes[number % len(self.planes) if self._behaviour(number) in {"open", "slow"} else 0]

    def add(self, name: str, behaviour: gate.Behaviour, plane: ControlPlane) -> None:
        """Adds a name."""
        port = self.ports[name] = self.gate.add(name, behaviour, plane.port)
        written = fleets.Folder(self.folder, plane)
        written.add(name, written.cluster | {"server": f"https://127.0.0.1:{port}"}, behaviour=behaviour)

    def remove(self, name: str) -> None:
        """Removes a name."""
        (self.folder / f"{name}.yaml").unlink()

    def _behaviour(self, number: int) -> gate.Behaviour:
        return self._behaviours.get(number, "open")
