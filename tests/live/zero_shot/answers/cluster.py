"""The cluster as the official client sees it, in raw JSON, and the small words that the answers share."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes
from kubernetes.utils import parse_quantity

from tests.kit.controlplane import official_client

Object = dict[str, Any]
Answer = Callable[["Cluster"], Any]

# Slug of a question -> the function that answers it.
ANSWERS: dict[str, Answer] = {}

PATHS = {
    "pods": "/api/v1/pods", "nodes": "/api/v1/nodes", "namespaces": "/api/v1/namespaces",
    "services": "/api/v1/services", "events": "/api/v1/events", "configmaps": "/api/v1/configmaps",
    "claims": "/api/v1/persistentvolumeclaims", "volumes": "/api/v1/persistentvolumes",
    "accounts": "/api/v1/serviceaccounts", "quotas": "/api/v1/resourcequotas", "ranges": "/api/v1/limitranges",
    "deployments": "/apis/apps/v1/deployments", "replicasets": "/apis/apps/v1/replicasets",
    "statefulsets": "/apis/apps/v1/statefulsets", "daemonsets": "/apis/apps/v1/daemonsets",
    "jobs": "/apis/batch/v1/jobs", "cronjobs": "/apis/batch/v1/cronjobs",
    "slices": "/apis/discovery.k8s.io/v1/endpointslices", "ingresses": "/apis/networking.k8s.io/v1/ingresses",
    "ingressclasses": "/apis/networking.k8s.io/v1/ingressclasses",
    "netpols": "/apis/networking.k8s.io/v1/networkpolicies",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "hpas": "/apis/autoscaling/v2/horizontalpodautoscalers", "pdbs": "/apis/policy/v1/poddisruptionbudgets",
    "roles": "/apis/rbac.authorization.k8s.io/v1/roles",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1/rolebindings",
    "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "priorityclasses": "/apis/scheduling.k8s.io/v1/priorityclasses", "leases": "/apis/coordination.k8s.io/v1/leases",
    "crds": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "validating": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "mutating": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "certificates": "/apis/cert-manager.io/v1/certificates", "issuers": "/apis/cert-manager.io/v1/issuers",
    "clusterissuers": "/apis/cert-manager.io/v1/clusterissuers",
    "applications": "/apis/argoproj.io/v1alpha1/applications", "tenants": "/apis/platform.example.com/v1/tenants",
    "nodemetrics": "/apis/metrics.k8s.io/v1beta1/nodes", "podmetrics": "/apis/metrics.k8s.io/v1beta1/pods",
}  # fmt: skip


class Cluster:
    """Lists by a short name, each asked for once."""

    def __init__(self, kubeconfig: Path) -> None:
        self.api = official_client.connect(kubeconfig)
        self.get = cache(self._get)

    def __getattr__(self, name: str) -> list[Object]:
        found: list[Object] = self.get(PATHS[name])["items"]
        return found

    def within(self, name: str, namespace: str) -> list[Object]:
        """The objects of one namespace."""
        return [one for one in getattr(self, name) if one["metadata"]["namespace"] == namespace]

    def status_of(self, path: str) -> int:
        """The HTTP status of a GET."""
        return int(self.get(path).get("code", 200))

    def log(self, namespace: str, pod: str, container: str, **options: Any) -> str | int:
        """A container's log, or the HTTP status of the refusal."""
        read: Any = kubernetes.client.CoreV1Api(self.api).read_namespaced_pod_log
        try:
            answered = read(pod, namespace, container=container, _preload_content=False, **options)
        except kubernetes.client.ApiException as error:
            return int(error.status or 0)
        text: str = answered.data.decode()
        return text

    def _get(self, path: str) -> Any:
        keys = {s["key"]: s["value"] for s in self.api.configuration.auth_settings().values() if s["value"]}
        headers = {"Accept": "application/json", **keys}
        answer = self.api.call_api("GET", self.api.configuration.host + path, header_params=headers)
        return json.loads(answer.read() if hasattr(answer, "read") else answer.data)


def answer(function: Answer) -> Answer:
    """Registers the answer to the question whose slug is the function's name."""
    ANSWERS[function.__name__.replace("_", "-")] = function
    return function


def key(body: Object) -> str:
    """namespace/name, or the name alone."""
    meta = body["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


def name(body: Object) -> str:
    """The name."""
    return str(body["metadata"]["name"])


def space(body: Object) -> str:
    """The namespace."""
    return str(body["metadata"]["namespace"])


def labels(body: Object) -> dict[str, str]:
    """The labels, an empty dict when there are none."""
    found: dict[str, str] = body["metadata"].get("labels") or {}
    return found


def condition(body: Object, kind: str) -> Object:
    """The condition of that type, an empty dict when there is none."""
    return next((one for one in body.get("status", {}).get("conditions", []) if one["type"] == kind), {})


def ready(body: Object) -> bool:
    """Whether the condition Ready is True."""
    return condition(body, "Ready").get("status") == "True"


def alive(pod: Object) -> bool:
    """Whether a pod's phase is neither Succeeded nor Failed."""
    return pod["status"].get("phase") not in ("Succeeded", "Failed")


def containers(body: Object, init: bool = False) -> list[Object]:
    """The containers of a pod, or of a workload's template."""
    spec = body["spec"]["template"]["spec"] if "template" in body["spec"] else body["spec"]
    return [*spec["containers"], *(spec.get("initContainers", []) if init else [])]


def statuses(pod: Object) -> list[Object]:
    """The statuses of a pod's containers."""
    found: list[Object] = pod["status"].get("containerStatuses", [])
    return found


def quantity(text: str | int) -> Decimal:
    """A Kubernetes quantity as a number."""
    return Decimal(parse_quantity(str(text)))  # type: ignore[no-untyped-call]


def total(pod: Object, resource: str, part: str = "requests") -> Decimal:
    """What a pod's containers request of a resource, or are limited to."""
    amounts = (one.get("resources", {}).get(part, {}).get(resource, "0") for one in containers(pod))
    return sum((quantity(amount) for amount in amounts), Decimal(0))


def days_since(stamp: str) -> float:
    """Days since a time as Kubernetes writes it."""
    return hours_since(stamp) / 24


def hours_since(stamp: str) -> float:
    """Hours since a time as Kubernetes writes it."""
    return (datetime.now(UTC) - datetime.fromisoformat(stamp)).total_seconds() / 3600


def whole(number: float) -> int:
    """Rounded down."""
    return math.floor(number)


def counted(keys: Iterable[str]) -> dict[str, int]:
    """How often each occurs."""
    found: dict[str, int] = {}
    for one in keys:
        found[one] = found.get(one, 0) + 1
    return found


def controller(body: Object) -> Object:
    """The owner reference with controller=true, an empty dict when there is none."""
    return next((one for one in body["metadata"].get("ownerReferences", []) if one.get("controller")), {})


def matches(selector: Object, tags: dict[str, str]) -> bool:
    """Whether a label selector selects these labels."""
    wanted = selector.get("matchLabels") or {}
    return bool(wanted.items() <= tags.items()) and all(
        _holds(one, tags) for one in selector.get("matchExpressions") or []
    )


def _holds(expression: Object, tags: dict[str, str]) -> bool:
    value, operator = tags.get(expression["key"]), expression["operator"]
    if operator == "In":
        return value in expression["values"]
    if operator == "NotIn":
        return value not in expression["values"]
    return bool((value is not None) == (operator == "Exists"))
