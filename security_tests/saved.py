"""Saved clusters as a stranger may have made them, and what they answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from kubescript import errors
from kubescript.request import request
from kubescript.snapshot import snapshot
from kubescript.wire import exchanges
from kubescript_sandbox.host import cancellation

__all__ = [
    "FORMS",
    "LINE",
    "SECRET",
    "TIME_S",
    "Count",
    "in_time",
    "log",
    "must_gather",
    "opening",
    "own_format",
    "pod",
    "put",
    "text",
]

SECRET: Final = "planted outside of the saved cluster"
LINE: Final = "2026-01-01T00:00:00Z a line\n"
TIME_S: Final = 60.0
"""A call that hangs takes for ever, and one that multiplies takes minutes."""
Count = Callable[[int], None]
"""Tells the table how many attacks a test made."""


def pod(name: str, namespace: str = "a") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "main"}]}}


def put(file: Path, content: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def must_gather(root: Path) -> Path:
    """Two pods with a log each, and a node; returns the log of the first."""
    spaces = root / "namespaces" / "a"
    for name in ("p1", "p2"):
        put(spaces / "pods" / name / f"{name}.yaml", yaml.safe_dump(pod(name)))
        put(spaces / "pods" / name / "main" / "main" / "logs" / "current.log", LINE)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    put(root / "cluster-scoped-resources" / "core" / "nodes" / "n1.yaml", yaml.safe_dump(node))
    return spaces / "pods" / "p1" / "main" / "main" / "logs" / "current.log"


def own_format(root: Path) -> Path:
    """Two pods with a log each, and the API's version; returns the log of the first."""
    entry = {"group": "", "version": "v1", "resource": "pods", "kind": "Pod", "namespaced": True}
    put(root / "snapshot.json", json.dumps({"format": "kubescript-snapshot/1", "resources": [entry]}))
    put(root / "resources" / "core" / "v1" / "pods.json", json.dumps({"items": [pod("p1"), pod("p2")]}))
    put(root / "discovery" / "version.json", json.dumps({"major": "1"}))
    for name in ("p1", "p2"):
        put(root / "logs" / "a" / name / "main.log", LINE)
    return root / "logs" / "a" / "p1" / "main.log"


FORMS: Final = {"must-gather": must_gather, "own": own_format}


def text(cluster: snapshot.Snapshot, path: str, query: str = "") -> str:
    """The body of a GET, or the message of the error that it ends in."""
    pairs = tuple(tuple(pair.split("=", 1)) for pair in query.split("&") if pair)
    call = request.parse(exchanges.Call("GET", tuple(path.split("/")), pairs))  # type: ignore[arg-type]
    try:
        return b"".join(cluster.perform(call, 60, cancellation.Cancellation()).chunks).decode("utf-8", "replace")
    except errors.KubescriptError as error:
        return f"{error.code}: {error.message}"


def log(cluster: snapshot.Snapshot, name: str, query: str = "container=main") -> str:
    return text(cluster, f"api/v1/namespaces/a/pods/{name}/log", query)


def opening(path: Path) -> str:
    """What opening a saved cluster says, or nothing."""
    try:
        snapshot.Snapshot(path).close()
    except errors.ClusterError as error:
        return f"{error.code}: {error.message}"
    return ""


def in_time(work: Callable[[], str]) -> str:
    """What `work` returns; the test fails when it does not return, nor stop."""
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(work()), daemon=True)
    thread.start()
    thread.join(5 * TIME_S)  # on a machine with other work to do
    assert answers, "no answer in time"
    return answers[0]
