"""Fleets of kubeconfigs in a folder: one API server under many names, whose files come, change and go."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from kubescript.fleet import fleet
from tests.kit.controlplane.server import ControlPlane

SETTINGS = """
log_level = "error"
[fleet]
source = "kubeconfig-dir"
folder = "{folder}"
"""


def put(path: Path, content: str) -> None:
    """Replaces a file in one step, as a mounted Secret is."""
    beside = path.with_name(f".{path.name}")
    beside.write_text(content)
    beside.rename(path)


def kubeconfig(
    name: str, cluster: Mapping[str, Any], user: Mapping[str, Any], labels: Mapping[str, str] | None = None
) -> str:
    """A kubeconfig with one context and its labels."""
    context: dict[str, Any] = {"cluster": "c", "user": "u", "namespace": "default"}
    if labels is not None:
        context["extensions"] = [{"name": "kubescript", "extension": {"labels": dict(labels)}}]
    return yaml.safe_dump({
        "clusters": [{"name": "c", "cluster": dict(cluster)}],
        "users": [{"name": "u", "user": dict(user)}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    })  # fmt: skip


class Folder:
    """The folder of a fleet whose clusters are all this API server."""

    def __init__(self, path: Path, plane: ControlPlane) -> None:
        self.path = path
        path.mkdir(exist_ok=True)
        self.cluster = {"server": plane.url, "certificate-authority": str(plane.folder / "ca.crt")}
        self.user = {
            "client-certificate": str(plane.folder / "admin.crt"),
            "client-key": str(plane.folder / "admin.key"),
        }

    def add(self, name: str, cluster: Mapping[str, Any] | None = None, **labels: str) -> None:
        """Adds a cluster, or replaces it."""
        put(self.path / f"{name}.yaml", kubeconfig(name, cluster or self.cluster, self.user, labels))

    def remove(self, name: str) -> None:
        """Removes a cluster."""
        (self.path / f"{name}.yaml").unlink()

    def settings(self, more: str = "") -> str:
        """A configuration file of a server with this fleet; `more` continues `[fleet]`."""
        return SETTINGS.format(folder=self.path) + more


def wait_for(found: fleet.Fleet, expected: Mapping[str, Mapping[str, str]]) -> None:
    """Waits until the fleet has exactly these clusters, with these labels."""
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        seen = {name: dict(each.labels) for name, each in found.members().items()}
        if seen == {name: dict(labels) for name, labels in expected.items()}:
            return
        time.sleep(0.05)
    raise AssertionError(f"the fleet has {seen}")
