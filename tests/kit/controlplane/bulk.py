"""Many large pods, for the benchmark of one script over a list of thousands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.kit.controlplane.fixture.base import Object, digest, number, suffix, thing
from tests.kit.controlplane.writer import Writer

NAMESPACE = "bulk"
PODS = 5000
# As served, with its managedFields, a pod has then a little over 9 KB, as one with two sidecars really has.
CONTAINERS = ("app", "proxy", "log-shipper")
VARIABLES = 3
# Pods in flight at a time; bounds memory.
BATCH = 500
STARTED = "2026-01-05T08:00:00Z"


def load(kubeconfig: Path, count: int = PODS, there: int = 0) -> None:
    """Creates `count` pods of at least 9 KB each, with status, but for those that are there already; their restart
    counts vary from 0 to 40."""
    writer = Writer(kubeconfig)
    writer.create_all([[thing("v1", "Namespace", NAMESPACE)]])
    writer.create_all(_batches(there, count))


def restarts(index: int) -> int:
    """How often the first container of a pod restarted: most never, one in ten up to 40 times."""
    return number(f"restarts-{index}", 41) if index % 10 == 0 else 0


def pod(index: int) -> Object:
    """The pod of that number, always the same."""
    name = f"load-{suffix(f'set-{index // 50}', 10)}-{index:05d}"
    labels = {"app": f"load-{index // 50}", "tier": ("web", "api", "worker")[index % 3], "index": str(index)}
    annotations = {f"example.com/note-{place}": digest(f"{name}-{place}") * 2 for place in range(3)}
    volumes = [{"name": f"config-{place}", "configMap": {"name": f"config-{place}"}} for place in range(2)]
    spec = {
        "nodeName": f"bulk-node-{index % 100}",
        "serviceAccountName": "default",
        "containers": [_container(name, index) for name in CONTAINERS],
        "volumes": [{"name": "tmp", "emptyDir": {}}, *volumes],
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "load", "effect": "NoSchedule"}],
    }
    return thing(
        "v1", "Pod", name, NAMESPACE, labels=labels, annotations=annotations, spec=spec, status=_status(name, index)
    )


def _batches(there: int, count: int) -> Iterator[list[Object]]:
    for first in range(there, count, BATCH):
        yield [pod(index) for index in range(first, min(first + BATCH, count))]


def _container(name: str, index: int) -> Object:
    variables = [{"name": f"SETTING_{place}", "value": f"value-{index}-{place}-{name}"} for place in range(VARIABLES)]
    return {
        "name": name,
        "image": f"load/{name}:1.{index % 7}.0",
        "env": [*variables, {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [{"name": f"config-{place}", "mountPath": f"/etc/config-{place}"} for place in range(2)],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5},
    }


def _status(name: str, index: int) -> Object:
    ip = f"10.{100 + index // 65536}.{index // 256 % 256}.{index % 256}"
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": STARTED}
        for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return {
        "phase": "Running",
        "conditions": conditions,
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": STARTED,
        "containerStatuses": [_container_status(container, index) for container in CONTAINERS],
    }


def _container_status(name: str, index: int) -> Object:
    return {
        "name": name,
        "image": f"load/{name}:1.{index % 7}.0",
        "imageID": digest(name),
        "containerID": f"containerd://{digest(f'{name}-{index}')}",
        "ready": True,
        "started": True,
        "restartCount": restarts(index) if name == CONTAINERS[0] else 0,
        "state": {"running": {"startedAt": STARTED}},
    }
