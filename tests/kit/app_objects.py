"""Workloads, pods and what routes to them, by the label app, for an API server without controllers."""

from __future__ import annotations

from typing import Any

from tests.kit.controlplane.writer import Object


def workload(namespace: str, kind: str, name: str, **spec: Any) -> Object:
    """A workload of three pods with the label app."""
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": name, "image": "web:1"}]}}
    whole = {"selector": {"matchLabels": {"app": name}}, "template": template, **spec}
    status: Object = {}
    if kind == "DaemonSet":
        status = dict.fromkeys(("currentNumberScheduled", "numberMisscheduled", "numberReady"), 4)
        status["desiredNumberScheduled"] = 4
    else:
        whole.setdefault("replicas", 3)
    metadata = {"name": name, "namespace": namespace}
    made = {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": whole}
    return {**made, "status": status} if status else made


def pod(namespace: str, name: str, app: str, ready: str = "True") -> Object:
    """A pod of a workload."""
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    spec = {"containers": [{"name": "c", "image": "web:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def service(namespace: str, name: str, app: str) -> Object:
    """A Service that selects pods by the label app."""
    spec = {"selector": {"app": app}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def scaler(namespace: str, name: str) -> Object:
    """An autoscaler of three to five pods."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec = {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": target}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": spec}


def budget(namespace: str, name: str) -> Object:
    """A budget that wants two pods."""
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": name}}}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def definition(group: str) -> Object:
    """A kind Pool, whose scale is in its field `size`."""
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"scale": scale, "status": {}},
    }
    names = {"kind": "Pool", "plural": "pools"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    metadata = {"name": f"pools.{group}"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": spec,
    }
