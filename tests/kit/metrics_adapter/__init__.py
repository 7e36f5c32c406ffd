"""A real adapter of custom and external metrics behind an API server, built once from the module beside this file."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx2

from kubescript_safety.controlplane import child, pki
from tests.kit import clients, gomodule
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

__all__ = ["Adapter", "program", "serving"]

_START_S: Final = 180
_VERSIONS: Final = {
    "custom.metrics.k8s.io": ("v1beta2", "v1beta1"),
    "external.metrics.k8s.io": ("v1beta1",),
}


def program() -> Path:
    """The program; the first call on a machine builds it, which takes two minutes."""
    return gomodule.program(Path(__file__).parent)


class Adapter:
    """An API server, behind which the adapter answers."""

    def __init__(self, plane: ControlPlane, values: str) -> None:
        self.plane = plane
        self._values = values

    def write(self, path: str, value: str, labels: str = "") -> None:
        """Stores the value of a metric, by the path below the version."""
        address = f"{self._values}/write-metrics/{path}"
        httpx2.post(address, params={"labels": labels}, json=value, timeout=60).raise_for_status()


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Adapter]:
    """Starts an API server and the adapter, and registers it."""
    authority = pki.Authority()
    pki.write_private(folder / "front.ca", authority.certificate)
    authority.client("front-proxy").write(folder, "front")
    # Nothing is behind an egress proxy: the API server connects to the adapter itself.
    (folder / "egress.yaml").write_text(
        '{"apiVersion":"apiserver.k8s.io/v1beta1","kind":"EgressSelectorConfiguration"}'
    )
    flags = (
        f"--egress-selector-config-file={folder / 'egress.yaml'}",
        f"--requestheader-client-ca-file={folder / 'front.ca'}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        f"--proxy-client-cert-file={folder / 'front.crt'}",
        f"--proxy-client-key-file={folder / 'front.key'}",
    )
    secure, values = clients.free_port(), clients.free_port()
    with ControlPlane(flags) as plane:
        key = plane.kubeconfig_for("metrics-adapter", ("system:masters",))
        command = [
            str(program()),
            f"--secure-port={secure}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={folder}",
            f"--values-address=127.0.0.1:{values}",
            *(f"--{role}-kubeconfig={key}" for role in ("lister", "authentication", "authorization")),
        ]
        adapter = child.Child(command, folder / "adapter.log")
        adapter.start()
        with contextlib.closing(adapter):
            _register(plane, secure, adapter)
            yield Adapter(plane, f"http://127.0.0.1:{values}")


def _register(plane: ControlPlane, port: int, adapter: child.Child) -> None:
    """Registers the adapter's groups, and waits until the API server passes requests on."""
    writer = Writer(plane.kubeconfig)
    service: dict[str, Any] = {"name": "adapter", "namespace": "default"}
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    writer.create({"apiVersion": "v1", "kind": "Service", "metadata": service, "spec": spec})
    for group, versions in _VERSIONS.items():
        for version in versions:
            writer.create({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{version}.{group}"},
                "spec": {
                    "group": group, "version": version, "groupPriorityMinimum": 100, "versionPriority": 100,
                    "insecureSkipTLSVerify": True, "service": {**service, "port": port},
                },
            })  # fmt: skip
    roots = [f"/apis/{group}/{version}" for group, versions in _VERSIONS.items() for version in versions]
    deadline = time.monotonic() + _START_S
    while not all(plane.get(root) == 200 for root in roots):
        assert time.monotonic() < deadline, adapter.tail()
        time.sleep(0.1)
