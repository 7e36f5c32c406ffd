"""The objects that the data of `observed` is about: four deployments of the namespace `shop`, with their pods."""

from __future__ import annotations

import random
from typing import Final

from tests.kit.app_objects import workload
from tests.kit.controlplane.writer import Object

__all__ = ["MEBIBYTE", "NAMESPACE", "manifests", "pods"]

NAMESPACE: Final = "shop"
MEBIBYTE: Final = 2**20
_REPLICAS: Final = {"checkout": 3, "cart": 2, "web": 2, "api": 2}
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LIMITS: Final = {"memory": "512Mi", "cpu": "500m"}


def pods() -> list[Object]:
    """The pods, with the names that a ReplicaSet would give them: the same in each run."""
    chance = random.Random(NAMESPACE)

    def letters(count: int) -> str:
        return "".join(chance.choices(_LETTERS, k=count))

    made = []
    for app, replicas in _REPLICAS.items():
        owner = f"{app}-{letters(9)}"
        made += [_pod(app, owner, f"{owner}-{letters(5)}", f"node-{number % 3}") for number in range(replicas)]
    return made


def _pod(app: str, owner: str, name: str, node: str) -> Object:
    container = {"name": app, "image": f"registry.example/{app}:1.7", "resources": {"limits": _LIMITS}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"app": app},
            "ownerReferences": [_reference("ReplicaSet", owner)],
        },
        "spec": {"nodeName": node, "containers": [container]},
        "status": {"phase": "Running"},
    }


def manifests() -> list[list[Object]]:
    """What a cluster gets, in steps: each waits for the one before."""
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    deployments = [workload(NAMESPACE, "Deployment", app, replicas=count) for app, count in _REPLICAS.items()]
    return [[namespace], deployments, _replica_sets(), pods()]


def _replica_sets() -> list[Object]:
    owners = {each["metadata"]["ownerReferences"][0]["name"]: each["metadata"]["labels"]["app"] for each in pods()}
    made = []
    for name, app in owners.items():
        each = workload(NAMESPACE, "ReplicaSet", name, replicas=_REPLICAS[app])
        each["metadata"]["ownerReferences"] = [_reference("Deployment", app)]
        made.append(each)
    return made


def _reference(kind: str, name: str) -> Object:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "controller": True}
