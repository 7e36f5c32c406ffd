"""What a server lets through: a write, an exec and a port-forward, with its defaults and in its read-only mode.

No container runs here: an exec or port-forward that reaches the cluster ends at a kubelet that refuses to upgrade the
connection. Whether a write was done is asked of the API server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import clusters, planted, report, servers, stdio
from benchmarks.peers import setups
from benchmarks.questions import Call

__all__ = ["run"]

_OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "written", "namespace": planted.SPACE},
}
_MANIFEST = json.dumps(_OBJECT)
_REACHED = "unable to upgrade connection"
"""What the API server's client says once a kubelet has answered."""


def run() -> Iterator[report.Row | str]:
    """The lines of this benchmark, one for each server and mode."""
    with clusters.broken() as kubeconfig:
        planted.plant(kubeconfig)
        attempts = _attempts(planted.find_logging(kubeconfig))
        with servers.kubescript(kubeconfig) as subject:
            yield f"kubescript, defaults: {_made(subject, attempts['kubescript'], kubeconfig)}"
        for peer in setups.PEERS:
            for read_only in (False, True):
                mode = "read-only" if read_only else "defaults"
                try:
                    with setups.start(peer, kubeconfig, read_only=read_only) as server:
                        yield f"{peer.name}, {mode}: {_made(server, attempts[peer.name], kubeconfig)}"
                except report.Unavailable as error:
                    yield f"without {peer.name}: {error}"


def _made(server: stdio.Server, attempts: Mapping[str, Call], kubeconfig: Path) -> str:
    """Make the attempts, and tell what came of each."""
    outcomes = []
    for what, (tool, arguments) in attempts.items():
        try:
            said = stdio.text(server.request("tools/call", {"name": tool, "arguments": arguments}))
        except RuntimeError as error:
            said = str(error)
        done = _remove(kubeconfig) or _REACHED in said
        outcomes.append(f"{what} {'done' if done else 'refused'}")
    return ", ".join(outcomes)


def _remove(kubeconfig: Path) -> bool:
    """Whether the object was there; it is not any more."""
    there = clusters.fetch(kubeconfig, f"/api/v1/namespaces/{planted.SPACE}/configmaps")["items"]
    if all(each["metadata"]["name"] != "written" for each in there):
        return False
    line = f"kubectl delete configmap written -n {planted.SPACE}"
    setups.Kubectl(kubeconfig).call("kubectl", {"command": line})
    return True


def _attempts(pod: planted.Pod) -> dict[str, dict[str, Call]]:
    """By server, the tools that write, execute and forward. A server without such a tool has no such attempt."""
    namespace, name = pod.namespace, pod.name
    forward = {"resourceType": "pod", "resourceName": name, "localPort": 18_999, "targetPort": 80}
    return {
        "kubescript": {
            "write": _script(f"create_namespaced_config_map({planted.SPACE!r}, {_OBJECT!r})"),
            "exec": _script(f"connect_get_namespaced_pod_exec({name!r}, {namespace!r})"),
            "port-forward": _script(f"connect_get_namespaced_pod_portforward({name!r}, {namespace!r})"),
        },
        "kubernetes-mcp-server": {
            "write": ("resources_create_or_update", {"resource": _MANIFEST}),
            "exec": ("pods_exec", {"namespace": namespace, "name": name, "command": ["id"]}),
        },
        "mcp-server-kubernetes": {
            "write": ("kubectl_apply", {"manifest": _MANIFEST, "namespace": planted.SPACE}),
            "exec": ("exec_in_pod", {"namespace": namespace, "name": name, "command": ["id"]}),
            "port-forward": ("port_forward", {"namespace": namespace, **forward}),
        },
        "kubectl-mcp-server": {
            "write": ("kubectl_apply", {"manifest": _MANIFEST, "namespace": planted.SPACE}),
            "exec": ("exec_in_pod", {"namespace": namespace, "pod_name": name, "command": "id"}),
        },
    }


def _script(call: str) -> Call:
    return "evaluate_script", {"script": f"k8s.coreV1().{call}"}
