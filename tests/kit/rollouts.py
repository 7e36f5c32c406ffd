"""A shop that runs where rollouts happen, or lies still where nothing does, a release of it as a script, and what the
cluster says of both."""

from __future__ import annotations

import contextlib
import itertools
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from kubernetes import client

from kubescript_safety.controlplane import audit, live
from tests.kit.controlplane import logged, official_client
from tests.kit.controlplane.writer import Object, Writer

DEPLOYMENTS: Final = {"web": 2, "api": 3, "worker": 1, "cache": 2}
"""Names, and replicas."""
_RELEASE: Final = """
for name, replicas in (("web", 3), ("api", 1)):
    k8s.scale(f"deployments/{name}", replicas, namespace=NAMESPACE)
k8s.set_image("deployments/worker", worker=IMAGE, namespace=NAMESPACE)
k8s.restart("deployments/cache", namespace=NAMESPACE)
k8s.delete("jobs/migrate", namespace=NAMESPACE)
"all of it"
"""
WRITES: Final = (
    "patch deployments/web/scale",
    "patch deployments/api/scale",
    "patch deployments/worker",
    "patch deployments/cache",
    "delete jobs/migrate",
)
"""What the release sends, in its order."""
TARGETS: Final = (
    "deployments.apps/scale {}/web",
    "deployments.apps/scale {}/api",
    "deployments.apps {}/worker",
    "deployments.apps {}/cache",
    "jobs.batch {}/migrate",
)
"""Likewise, as a person reads it."""
USER: Final = "kubescript"
"""As whom kubescript talks to the cluster."""
_REST_S: Final = 240
"""The controllers get to it late where a machine does other work."""
_QUIET: Final = 3
"""How often the objects are read with the same result before they count as at rest."""
_numbers: Final = itertools.count(1)


class Shop:
    """One shop, in a namespace of its own."""

    def __init__(self, cluster: live.Cluster | logged.Logged, *, image: str = "worker:2") -> None:
        self._cluster = cluster
        self._runs = isinstance(cluster, live.Cluster)
        self.namespace = f"shop-{next(_numbers)}-{secrets.token_hex(2)}"
        self.kubeconfig = cluster.plane.kubeconfig_for(USER, ("system:masters",))
        self.release = f"NAMESPACE, IMAGE = {self.namespace!r}, {image!r}\n{_RELEASE}"
        """The script."""
        api = official_client.connect(cluster.plane.kubeconfig)
        self.apps: Any = client.AppsV1Api(api)
        self.core: Any = client.CoreV1Api(api)
        self.batch: Any = client.BatchV1Api(api)

    def open(self) -> None:
        """Makes it, and waits until it runs where it does."""
        writer = Writer(self._cluster.plane.kubeconfig)
        writer.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        for name, replicas in DEPLOYMENTS.items():
            writer.create(self._deployment(name, replicas))
        writer.create(self._object("batch/v1", "Job", "migrate", {"template": _template("migrate", "Never")}))
        writer.create({**self._object("v1", "ConfigMap", "settings", {}), "data": {"level": "info"}})
        if self._runs:
            self.wait_for(lambda: all(self.is_rolled_out(name) for name in DEPLOYMENTS))
            self.wait_for(lambda: self.batch.read_namespaced_job("migrate", self.namespace).status.succeeded == 1)

    def is_rolled_out(self, name: str) -> bool:
        """Whether a deployment is as it should be, and has been seen by its controller."""
        found = self.apps.read_namespaced_deployment(name, self.namespace)
        wanted, status = found.spec.replicas, found.status
        counts = {status.replicas or 0, status.updated_replicas or 0, status.available_replicas or 0}
        return status.observed_generation == found.metadata.generation and counts == {wanted}

    def check_released(self) -> None:
        """Fails unless the release was sent, once, in its order, and all of it has rolled out."""
        assert self.written() == list(WRITES)
        replicas = {name: self.deployment(name).spec.replicas for name in DEPLOYMENTS}
        assert replicas == DEPLOYMENTS | {"web": 3, "api": 1}
        assert all(self.is_rolled_out(name) for name in DEPLOYMENTS)
        assert self.images("worker") == {"worker:2"}
        annotations = self.deployment("cache").spec.template.metadata.annotations
        assert list(annotations) == ["kubectl.kubernetes.io/restartedAt"]
        # The Job goes at once, and the collector of garbage takes its pods.
        assert not self.batch.list_namespaced_job(self.namespace).items
        self.wait_for(lambda: not self.images("migrate"))

    def deployment(self, name: str) -> Any:
        """A deployment as it is."""
        return self.apps.read_namespaced_deployment(name, self.namespace)

    def images(self, name: str) -> set[str]:
        """The images with which the pods of a deployment run."""
        pods = self.core.list_namespaced_pod(self.namespace, label_selector=f"app={name}").items
        return {container.image for pod in pods for container in pod.spec.containers}

    def recreate(self, name: str) -> None:
        """Deletes a deployment, and makes it again as it was."""
        self.apps.delete_namespaced_deployment(name, self.namespace)
        self.wait_for(lambda: name not in {found.metadata.name for found in self._deployments()})
        self.apps.create_namespaced_deployment(self.namespace, self._deployment(name, DEPLOYMENTS[name]))
        self.wait_for(lambda: not self._runs or self.is_rolled_out(name))

    def written(self) -> list[str]:
        """What kubescript has sent to change something here, in its order."""
        return [_short(event, self.namespace) for event in self.events()]

    def events(self) -> list[audit.Event]:
        """Likewise, as the API server has recorded it."""
        self._cluster.log.settle(self._cluster.plane)
        return self._cluster.log.writes(USER, self.namespace)

    def state(self) -> tuple[dict[str, str], list[str]]:
        """The resourceVersion of everything here, once nothing moves, and what kubescript has sent."""
        versions, same = self._versions(), 0 if self._runs else _QUIET
        deadline = time.monotonic() + _REST_S
        while same < _QUIET:
            assert time.monotonic() < deadline, f"{self.namespace} does not come to rest"
            time.sleep(0.2)
            before, versions = versions, self._versions()
            same = same + 1 if versions == before else 0
        return versions, self.written()

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Fails when kubescript sends anything here that is to change something, or an object changes."""
        before = self.state()
        yield
        assert self.state() == before

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Waits until it holds."""
        deadline = time.monotonic() + _REST_S
        while not condition():
            assert time.monotonic() < deadline, f"{self.namespace} does not get there"
            time.sleep(0.1)

    def _versions(self) -> dict[str, str]:
        lists = (
            self._deployments(),
            self.apps.list_namespaced_replica_set(self.namespace).items,
            self.batch.list_namespaced_job(self.namespace).items,
            self.core.list_namespaced_pod(self.namespace).items,
            self.core.list_namespaced_config_map(self.namespace).items,
        )
        return {found.metadata.uid: found.metadata.resource_version for each in lists for found in each}

    def _deployments(self) -> list[Any]:
        found: list[Any] = self.apps.list_namespaced_deployment(self.namespace).items
        return found

    def _deployment(self, name: str, replicas: int) -> Object:
        spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": _template(name)}
        return self._object("apps/v1", "Deployment", name, spec)

    def _object(self, api_version: str, kind: str, name: str, spec: Object) -> Object:
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata} | ({"spec": spec} if spec else {})


def _template(name: str, restart_policy: str = "Always") -> Object:
    containers = [{"name": name, "image": f"{name}:1"}]
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, "restartPolicy": restart_policy}}


def _short(event: audit.Event, namespace: str) -> str:
    """`patch deployments/web/scale`, and the status of a request that was refused."""
    path = event.path.partition(f"/namespaces/{namespace}/")[2]
    refused = f" {event.status}" if event.status >= 300 else ""
    return f"{event.verb} {path}{refused}"
