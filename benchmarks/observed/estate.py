"""The cluster of the lab: its workloads as a table, and their objects. The times of objects count from one moment."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from tests.kit.controlplane.fixture.base import Clock, Object, condition, suffix, thing

__all__ = ["APPS", "CLAIMS", "GIB", "HPAS", "NODES", "TEAMS", "App", "Pod", "claim_of", "objects", "pods"]

GIB: Final = 2**30
TEAMS: Final = {"shop": "storefront", "payments": "ledger", "monitoring": "observability", "kube-system": "platform"}
"""Namespace ▶ its label `team`."""
NODES: Final = {
    "node-a1": ("eu-1a", 16), "node-a2": ("eu-1a", 32), "node-b1": ("eu-1b", 16),
    "node-b2": ("eu-1b", 8), "node-c1": ("eu-1c", 32), "node-c2": ("eu-1c", 16),
}  # fmt: skip
"""Node ▶ its zone, and its memory in GiB."""
CLAIMS: Final = {
    ("payments", "ledger-data"): ("ledger", 50, "fast-ssd"),
    ("monitoring", "prometheus-db"): ("prometheus", 100, "standard"),
    ("monitoring", "loki-chunks"): ("loki", 80, "standard"),
    ("shop", "search-index"): ("search", 40, "fast-ssd"),
    ("shop", "catalog-images"): ("catalog", 200, "archive"),
}
"""Claim ▶ the app whose pods mount it, its GiB and its class."""
HPAS: Final = {
    ("shop", "web"): (2, 6, 4),
    ("shop", "cart"): (2, 3, 3),
    ("shop", "checkout"): (2, 4, 4),
    ("payments", "gateway"): (2, 8, 3),
}
"""HorizontalPodAutoscaler ▶ least, most, and present replicas."""
_LONG_AGO: Final = 3000
"""Minutes since most pods started."""


@dataclass(frozen=True)
class App:
    """A Deployment, with what its pods request, may use and do use."""

    namespace: str
    name: str
    tag: str
    replicas: int
    cpu: tuple[int, int]
    """Requested millicores and the limit; 0 is none."""
    memory: tuple[int, int]
    """Requested MiB and the limit; 0 is none."""
    uses: tuple[float, float]
    """Cores and MiB that a pod uses in the mean."""
    requests: float = 0
    """HTTP requests a second of one pod."""
    lines: float = 0.3
    """Log lines a minute of one pod."""
    started: int = _LONG_AGO
    """Minutes since its pods started."""
    before: str = ""
    """The tag before the last rollout; its pods have gone, and their series remain."""
    team: str = ""
    """Its own label `team`, where it is not the namespace's."""
    has_proxy: bool = False

    @property
    def image(self) -> str:
        """Of the container `app`."""
        return _image(self, self.tag)

    @property
    def sizes(self) -> dict[str, tuple[tuple[int, int], tuple[int, int]]]:
        """Container ▶ its millicores and its MiB, each as requested and the limit."""
        return {"app": (self.cpu, self.memory)} | ({"proxy": ((100, 0), (64, 128))} if self.has_proxy else {})


APPS: Final = (
    App("shop", "web", "5.2.1", 4, (500, 1000), (256, 512), (0.3, 190), 12, 2, has_proxy=True),
    App("shop", "cart", "1.14.0", 3, (200, 400), (256, 640), (0.045, 221), 5, 2),
    App("shop", "catalog", "4.0.2", 3, (300, 0), (512, 768), (0.12, 430), 7, 2),
    App("shop", "checkout", "2.4.0", 4, (400, 800), (256, 512), (0.34, 205), 4, 3, 95, "2.3.7", "experience", True),
    App("shop", "search", "9.1.0", 2, (1000, 2000), (1024, 1536), (0.2, 1130), 0, 2),
    App("shop", "thumbnailer", "0.8.3", 2, (250, 0), (128, 0), (0.21, 310)),
    App("shop", "mailer", "1.2.0", 1, (100, 0), (64, 0), (0.01, 41)),
    App("payments", "api", "7.3.0", 3, (500, 1000), (512, 768), (0.33, 460), 9, 3),
    App("payments", "gateway", "3.1.0", 3, (300, 600), (384, 768), (0.05, 300), 15, 2, 370, "3.0.9", has_proxy=True),
    App("payments", "reconciler", "2.0.5", 2, (200, 200), (192, 384), (0.17, 140), 0, 1),
    App("payments", "ledger", "11.4.1", 1, (1000, 2000), (2048, 3072), (0.5, 1810), 0, 1),
    App("payments", "fraud", "0.31.2", 2, (250, 500), (384, 0), (0.11, 455), 11, 1, team="risk"),
    App("monitoring", "prometheus", "3.16.0", 1, (500, 0), (1024, 2048), (0.4, 1290)),
    App("monitoring", "loki", "2.2.1", 1, (500, 0), (512, 1024), (0.2, 360)),
    App("monitoring", "grafana", "12.1.0", 1, (100, 200), (128, 256), (0.04, 97)),
    App("kube-system", "coredns", "1.14.1", 2, (100, 0), (70, 170), (0.05, 33), 0, 1),
    App("kube-system", "metrics-server", "0.8.1", 1, (100, 0), (200, 400), (0.06, 88)),
)


@dataclass(frozen=True)
class Pod:
    """A pod that is there, or was there until its Deployment was rolled out."""

    app: App
    number: int
    name: str
    node: str
    is_gone: bool = False
    restarts: int = 0

    @property
    def key(self) -> tuple[str, int]:
        """What the plants name: the app and the number."""
        return self.app.name, self.number

    @property
    def is_ready(self) -> bool:
        """Whether its condition Ready is true."""
        return self.key not in _NOT_READY

    @property
    def labels(self) -> dict[str, str]:
        """As series and log streams carry them."""
        return {"namespace": self.app.namespace, "pod": self.name}


_NOT_READY: Final = {("search", 1), ("fraud", 1)}
_RESTARTS: Final = {("search", 1): 14, ("reconciler", 0): 2, ("web", 2): 1, ("gateway", 0): 1}
_PLACES: Final = {
    ("ledger", 0): "node-b2",
    ("api", 1): "node-b2",
    ("coredns", 1): "node-b2",
    ("thumbnailer", 1): "node-c2",
}
"""The pods of node-b2, which has little memory; all others are elsewhere."""


@cache
def pods() -> tuple[Pod, ...]:
    """All pods, with those that have gone."""
    found = []
    for app in APPS:
        for is_gone in (False, True) if app.before else (False,):
            tag = app.before if is_gone else app.tag
            for number in range(app.replicas):
                name = f"{_set_name(app, tag)}-{suffix(f'{app.name}/{tag}/{number}')}"
                found.append(Pod(app, number, name, _place(app, number), is_gone, _restarts(app, number, is_gone)))
    return tuple(found)


def claim_of(app: App) -> str:
    """The claim that the pods of an app mount, or nothing."""
    return next((name for (_, name), claim in CLAIMS.items() if claim[0] == app.name), "")


def objects(clock: Clock) -> list[list[Object]]:
    """All objects in waves: what others refer to comes first."""
    spaces = [thing("v1", "Namespace", name, labels={"team": team}) for name, team in TEAMS.items()]
    nodes = [_node(name, *NODES[name], clock) for name in NODES]
    tops = {app: _deployment(app, clock) for app in APPS}
    sets = {(app, tag): _set(app, tag, top) for app, top in tops.items() for tag in (app.tag, app.before) if tag}
    running = [_pod(pod, sets[pod.app, pod.app.tag], clock) for pod in pods() if not pod.is_gone]
    return [spaces, [*nodes, *tops.values(), *_around()], list(sets.values()), running]


def _image(app: App, tag: str) -> str:
    return f"registry.example.com/{app.namespace}/{app.name}:{tag}"


def _set_name(app: App, tag: str) -> str:
    return f"{app.name}-{suffix(f'{app.name}:{tag}', 10)}"


def _place(app: App, number: int) -> str:
    others = [name for name in NODES if name != "node-b2"]
    return _PLACES.get((app.name, number)) or random.Random(f"place/{app.name}/{number}").choice(others)


def _restarts(app: App, number: int, is_gone: bool) -> int:
    return 0 if is_gone else _RESTARTS.get((app.name, number), 0)


def _node(name: str, zone: str, memory: int, clock: Clock) -> Object:
    size = {"cpu": "8", "memory": f"{memory}Gi", "pods": "110"}
    ready = condition("Ready", True, "KubeletReady", "kubelet is posting ready status", clock.ago(days=20))
    enough = condition("MemoryPressure", False, "KubeletHasSufficientMemory", "enough memory", clock.ago(days=20))
    labels = {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}
    status = {"capacity": size, "allocatable": size, "conditions": [enough, ready]}
    return thing("v1", "Node", name, labels=labels, spec={}, status=status)


def _template(app: App, tag: str) -> Object:
    images = {"app": _image(app, tag), "proxy": "registry.example.com/mesh/proxy:1.30"}
    spec: Object = {"containers": [_container(name, images[name], *size) for name, size in app.sizes.items()]}
    if claim := claim_of(app):
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return {"metadata": {"labels": {"app": app.name}}, "spec": spec}


def _container(name: str, image: str, cpu: tuple[int, int], memory: tuple[int, int]) -> Object:
    limits = {"cpu": f"{cpu[1]}m"} if cpu[1] else {}
    if memory[1]:
        limits["memory"] = f"{memory[1]}Mi"
    requests = {"cpu": f"{cpu[0]}m", "memory": f"{memory[0]}Mi"}
    return {"name": name, "image": image, "resources": {"requests": requests, "limits": limits}}


def _deployment(app: App, clock: Clock) -> Object:
    selector = {"matchLabels": {"app": app.name}}
    ready = sum(pod.is_ready for pod in pods() if pod.app is app and not pod.is_gone)
    counts = {"replicas": app.replicas, "updatedReplicas": app.replicas, "readyReplicas": ready}
    progress = condition("Progressing", True, "NewReplicaSetAvailable", "progressed", clock.ago(app.started - 2))
    status = {**counts, "availableReplicas": ready, "observedGeneration": 1, "conditions": [progress]}
    labels = {"app": app.name} | ({"team": app.team} if app.team else {})
    notes = {"deployment.kubernetes.io/revision": "2" if app.before else "1"}
    spec = {"replicas": app.replicas, "selector": selector, "template": _template(app, app.tag)}
    return thing(
        "apps/v1", "Deployment", app.name, app.namespace, labels=labels, annotations=notes, spec=spec, status=status
    )


def _set(app: App, tag: str, top: Object) -> Object:
    is_now = tag == app.tag
    count = app.replicas if is_now else 0
    notes = {"deployment.kubernetes.io/revision": "2" if app.before and is_now else "1"}
    spec = {"replicas": count, "selector": {"matchLabels": {"app": app.name}}, "template": _template(app, tag)}
    return thing(
        "apps/v1", "ReplicaSet", _set_name(app, tag), app.namespace, labels={"app": app.name}, annotations=notes,
        owner=top, spec=spec, status={"replicas": count, "observedGeneration": 1},
    )  # fmt: skip


def _pod(pod: Pod, owner: Object, clock: Clock) -> Object:
    spec = {**_template(pod.app, pod.app.tag)["spec"], "nodeName": pod.node}
    since = clock.ago(pod.app.started)
    conditions = [condition("Ready", pod.is_ready, "" if pod.is_ready else "ContainersNotReady", "", since)]
    statuses = [_container_status(pod, container, since, clock) for container in spec["containers"]]
    status = {"phase": "Running", "startTime": since, "conditions": conditions, "containerStatuses": statuses}
    return thing(
        "v1", "Pod", pod.name, pod.app.namespace, labels={"app": pod.app.name}, owner=owner, spec=spec, status=status
    )


def _container_status(pod: Pod, container: Object, since: str, clock: Clock) -> Object:
    is_app = container["name"] == "app"
    restarts = pod.restarts if is_app else 0
    status: Object = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": restarts}
    status["ready"] = pod.is_ready or not is_app
    status["state"] = {"running": {"startedAt": since}}
    if restarts:
        why, code = ("OOMKilled", 137) if pod.key == ("search", 1) else ("Error", 2)
        ended = {"reason": why, "exitCode": code, "finishedAt": clock.ago(5), "startedAt": clock.ago(29)}
        status["lastState"] = {"terminated": ended}
    if pod.key == ("search", 1):
        status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}}
    return status


def _around() -> Iterator[Object]:
    for (space, name), (_, size, kind) in CLAIMS.items():
        resources = {"requests": {"storage": f"{size}Gi"}}
        claim = {"accessModes": ["ReadWriteMany"], "storageClassName": kind, "resources": resources}
        status = {"phase": "Bound", "capacity": {"storage": f"{size}Gi"}, "accessModes": ["ReadWriteMany"]}
        yield thing("v1", "PersistentVolumeClaim", name, space, spec=claim, status=status)
    for (space, name), (least, most, now) in HPAS.items():
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        spec: Object = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": most}
        scaled = {"currentReplicas": now, "desiredReplicas": now}
        yield thing("autoscaling/v2", "HorizontalPodAutoscaler", name, space, spec=spec, status=scaled)
    for app in APPS:
        if app.requests:
            ports: Object = {"selector": {"app": app.name}, "ports": [{"port": 80, "targetPort": 8080}]}
            yield thing("v1", "Service", app.name, app.namespace, spec=ports)
