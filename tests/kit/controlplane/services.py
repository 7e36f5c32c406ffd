"""Services of a control plane behind which a server of this machine answers, through the API server's service proxy."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import kubernetes.client

from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane

__all__ = ["expose", "own_address", "write_egress"]


def own_address() -> str:
    """An address of this machine that is not the loopback, to which the API server connects for no Service."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # nothing is sent
        return str(probe.getsockname()[0])


def write_egress(folder: Path) -> str:
    """The flag of an API server that connects to pods itself, and not through the socket of our kubelets."""
    file = folder / "egress.yaml"
    file.write_text('{"apiVersion":"apiserver.k8s.io/v1beta1","kind":"EgressSelectorConfiguration"}')
    return f"--egress-selector-config-file={file}"


def expose(plane: ControlPlane, namespace: str, name: str, port: int) -> None:
    """Makes a Service with the port 9090, called web, whose only pod is what listens at `own_address` and this port."""
    client: Any = kubernetes.client
    core = client.CoreV1Api(official_client.connect(plane.kubeconfig))
    address = own_address()
    meta = {"metadata": {"name": name}}
    core.create_namespaced_service(
        namespace, meta | {"spec": {"ports": [{"name": "web", "port": 9090, "targetPort": port}]}}
    )
    # The proxy connects only to addresses of pods that are there.
    core.create_namespaced_pod(namespace, meta | {"spec": {"containers": [{"name": "server", "image": "server"}]}})
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    core.patch_namespaced_pod_status(name, namespace, {"status": status})
    pod = {"ip": address, "targetRef": {"kind": "Pod", "name": name, "namespace": namespace}}
    core.create_namespaced_endpoints(
        namespace, meta | {"subsets": [{"addresses": [pod], "ports": [{"name": "web", "port": port}]}]}
    )
