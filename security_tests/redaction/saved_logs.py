"""Logs of a saved cluster behind a broker that masks: a script asks for them with any parameter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kubescript.broker import broker, operation
from kubescript.policy import policy
from kubescript.snapshot import saved_cluster, snapshot
from kubescript.wire import exchanges
from security_tests.redaction import engine

__all__ = ["CAPTURED", "Logs", "stamp"]

CAPTURED: Final = "2026-01-31T12:01:00Z"
STEP_MS: Final = 10
"""Between two lines."""


def stamp(line: int) -> str:
    """When a line was written, as a kubelet writes it."""
    seconds, part = divmod(line * STEP_MS, 1_000)
    return f"2026-01-31T{12 + seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{part:03d}000000Z"


class Logs:
    """Logs by the name of their pod, each line of which is 10 ms younger than the one before."""

    def __init__(self, folder: Path, texts: Mapping[str, str]) -> None:
        self._folder = folder
        pods = [
            {"metadata": {"name": name, "namespace": "a"}, "spec": {"containers": [{"name": "c"}]}} for name in texts
        ]
        kind = {"group": "", "version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
        _write(folder / "snapshot.json", {"format": saved_cluster.FORMAT, "capturedAt": CAPTURED, "resources": [kind]})
        _write(folder / "resources/core/v1/pods.json", {"kind": "PodList", "apiVersion": "v1", "items": pods})
        for name, text in texts.items():
            lines = text.removesuffix("\n").split("\n")
            self.write(name, "".join(f"{stamp(at)} {line}\n" for at, line in enumerate(lines)))
        self.masking = engine.fresh()
        self._broker = broker.Broker(snapshot.Snapshot(folder), policy.Policy(), redact=self.masking.body)

    def write(self, name: str, stamped: str) -> None:
        """The log of a pod, with the stamps of a kubelet."""
        file = self._folder / "logs/a" / name / "c.log"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(stamped.encode())

    def read(self, name: str, **query: str) -> bytes:
        """What a script gets. Raises ClusterError."""
        call = exchanges.Call(
            "GET", ("api", "v1", "namespaces", "a", "pods", name, "log"), tuple(query.items()), accept="text"
        )
        reply, response = self._broker.handle(call, operation.Operation(), 60)
        assert response is not None and reply.status == 200, reply
        return b"".join(response.chunks)


def _write(file: Path, document: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
