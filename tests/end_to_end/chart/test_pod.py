"""The server of a pod, started here as its Deployment says: its arguments, variables, settings and files are what a real
server takes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

import httpx2
from kubernetes import client

from kubescript_safety.controlplane import pki
from tests.kit import chart, clients, identities, pod
from tests.kit.controlplane import official_client
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer
from tests.kit.postgres import Postgres

_TOKEN: Final = "a-token-of-alice-0123456789"
_SCRIPT: Final = 'f"{len(k8s.coreV1().list_node())} nodes, {k8s.authenticationV1().create_self_subject_review({}).status.user_info.username}"'
_VALUES: Final = (
    "tls.secret=kubescript-tls,store.secret=kubescript-store,audit.claim=kubescript-audit,metrics.enabled=true"
)


def account(scratch: ControlPlane, objects: chart.Objects, path: Path) -> Path:
    """Makes the chart's service account with its role; returns a kubeconfig with its token."""
    made = [objects[kind] for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding")]
    Writer(scratch.kubeconfig).create_all([[each] for each in made])
    metadata = made[0]["metadata"]
    core: Any = client.CoreV1Api(official_client.connect(scratch.kubeconfig))
    body = {"spec": {"expirationSeconds": 3600}}
    asked = core.create_namespaced_service_account_token(metadata["name"], metadata["namespace"], body)
    return identities.kubeconfig(scratch, path, {metadata["name"]: {"token": asked.status.token}})


def test_the_server_of_a_pod_serves(
    scratch: ControlPlane, namespace: str, postgresql: Postgres, tmp_path: Path
) -> None:
    """It is ready, lets a caller count nodes by the role of the toolset, is measured, and keeps its record on the volume."""
    objects = chart.by_kind(chart.render(tmp_path, "--namespace", namespace, "--set", _VALUES))
    digest = hashlib.sha256(_TOKEN.encode()).hexdigest()
    certificate = pki.Authority().serving(["localhost"], ["127.0.0.1"])
    certificate.write(tmp_path, "tls")
    secrets = {
        "kubescript": {"tokens.csv": f"sha256:{digest},alice,u-1,platform\n".encode()},
        "kubescript-tls": {name: (tmp_path / name).read_bytes() for name in ("tls.crt", "tls.key")},
        "kubescript-store": {"store": postgresql.database().encode()},
    }
    server = pod.Pod(objects, tmp_path / "root", secrets)
    kubeconfig = account(scratch, objects, tmp_path / "kubeconfig")
    environment = {**server.environment, "KUBECONFIG": str(kubeconfig)}
    with clients.running(server.arguments, "https", **environment) as (port, _):
        url = f"https://127.0.0.1:{port}"
        assert httpx2.get(f"{url}/ready", verify=False, timeout=60).status_code == 200
        call = {"name": "evaluate_script", "arguments": {"script": _SCRIPT}}
        answer = httpx2.post(
            f"{url}/mcp",
            headers={"accept": "application/json", "authorization": f"Bearer {_TOKEN}"},
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            verify=False,
            timeout=60,
        ).json()
        assert f"system:serviceaccount:{namespace}:kubescript" in answer["result"]["content"][0]["text"]
        measured = httpx2.get(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=60).text
        assert "kubescript_queue_depth 0" in measured
    assert _TOKEN not in Path(server.place("/var/lib/kubescript/kubescript-0.jsonl")).read_text()
