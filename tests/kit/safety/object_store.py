"""Hands on a handful of objects in memory: every call succeeds, except those that `refuses` names."""

from __future__ import annotations

import copy
from typing import Any

from kubescript_safety.agents.hands import base
from kubescript_safety.scenario import Scenario

Object = dict[str, Any]

GROUPS = {
    "apps/v1": ".apps", "batch/v1": ".batch", "autoscaling/v2": ".autoscaling", "policy/v1": ".policy", "v1": "",
    "networking.k8s.io/v1": ".networking.k8s.io", "rbac.authorization.k8s.io/v1": ".rbac.authorization.k8s.io",
    "admissionregistration.k8s.io/v1": ".admissionregistration.k8s.io",
}  # fmt: skip
PLURALS = {
    "NetworkPolicy": "networkpolicies",
    "Ingress": "ingresses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}


def resource_of(item: Object) -> str:
    """Returns plural and group."""
    kind: str = item["kind"]
    return PLURALS.get(kind, kind.lower() + "s") + GROUPS[item["apiVersion"]]


def key_of(resource: str, namespace: str, name: str) -> tuple[str, str, str]:
    """Returns what an object is kept under."""
    return resource, namespace, name


class Store(base.Base):
    """The objects of one scenario's set-up, with two pods for each Deployment."""

    def __init__(self, found: Scenario, refuses: frozenset[str] = frozenset()) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.answers: list[str] = []
        self._refuses = refuses
        self._objects: dict[tuple[str, str, str], Object] = {}
        for item in found.setup:
            self._add(copy.deepcopy(item))
            if item["kind"] == "Deployment":
                for suffix in ("abc12-x1", "abc12-x2"):
                    meta = {"name": f"{item['metadata']['name']}-{suffix}", "namespace": item["metadata"]["namespace"]}
                    self._add({"apiVersion": "v1", "kind": "Pod", "metadata": meta})

    def get(self, resource: str, namespace: str, name: str) -> Object:
        self._record("get", resource, namespace, name)
        return copy.deepcopy(self._objects[resource, namespace, name])

    def list(self, resource: str, namespace: str) -> list[Object]:
        self._record("list", resource, namespace)
        return [copy.deepcopy(one) for key, one in self._objects.items() if key[:2] == (resource, namespace)]

    def logs(self, namespace: str, pod: str) -> str:
        self._record("logs", "pods", namespace, pod)
        return ""

    def patch(self, resource: str, namespace: str, name: str, body: Object) -> None:
        self._record("patch", resource, namespace, name)
        merge(self._objects[resource, namespace, name], body)

    def replace(self, item: Object) -> None:
        key = key_of(resource_of(item), item["metadata"].get("namespace", ""), item["metadata"]["name"])
        self._record("replace", *key)
        assert key in self._objects
        self._objects[key] = item

    def create(self, item: Object) -> None:
        key = key_of(resource_of(item), item["metadata"].get("namespace", ""), item["metadata"]["name"])
        self._record("create", *key)
        assert key not in self._objects
        self._objects[key] = item

    def delete(self, resource: str, namespace: str, name: str) -> None:
        self._record("delete", resource, namespace, name)
        del self._objects[resource, namespace, name]

    def delete_all(self, resource: str, namespace: str) -> None:
        self._record("delete_all", resource, namespace)

    def scale(self, resource: str, namespace: str, name: str, replicas: int) -> None:
        self._record("scale", resource, namespace, name)
        self._objects[resource, namespace, name]["spec"]["replicas"] = replicas

    def restart(self, resource: str, namespace: str, name: str) -> None:
        self._record("restart", resource, namespace, name)
        assert (resource, namespace, name) in self._objects

    def set_image(self, resource: str, namespace: str, name: str, container: str, image: str) -> None:
        self._record("set_image", resource, namespace, name)
        self._container(resource, namespace, name, container)["image"] = image

    def set_container(self, resource: str, namespace: str, name: str, container: str, fields: Object) -> None:
        self._record("set_container", resource, namespace, name)
        self._container(resource, namespace, name, container).update(fields)

    def _container(self, resource: str, namespace: str, name: str, container: str) -> Object:
        found = self._objects[resource, namespace, name]["spec"]["template"]["spec"]["containers"]
        return next(one for one in found if one["name"] == container)

    def secret(self, namespace: str, name: str) -> str:
        self._record("secret", "secrets", namespace, name)
        assert ("secrets", namespace, name) in self._objects
        return "*****"

    def answer(self, text: str) -> None:
        self.answers.append(text)

    def _record(self, *call: str) -> None:
        self.calls.append(call)
        if call[0] in self._refuses:
            raise base.Refused("denied")

    def _add(self, item: Object) -> None:
        meta = item["metadata"]
        self._objects[key_of(resource_of(item), meta.get("namespace", ""), meta["name"])] = item


def merge(target: Object, body: Object) -> None:
    """Applies a JSON merge patch."""
    for name, value in body.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict) and isinstance(target.get(name), dict):
            merge(target[name], value)
        else:
            target[name] = copy.deepcopy(value)
