"""Finds the Kubernetes object that the labels of a series name: one list for each kind and namespace, made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["NamedObjects"]

_KINDS: Final = {
    "deployment": "deployments.apps",
    "statefulset": "statefulsets.apps",
    "daemonset": "daemonsets.apps",
    "replicaset": "replicasets.apps",
    "cronjob": "cronjobs.batch",
    "job_name": "jobs.batch",
    "horizontalpodautoscaler": "horizontalpodautoscalers.autoscaling",
    "persistentvolumeclaim": "persistentvolumeclaims",
    "pod": "pods",
    "service": "services",
    "node": "nodes",
    "namespace": "namespaces",
}
"""The labels that name objects, and the objects' kinds, the most telling first: the series of a deployment may have the
labels of the pod that exports them. `job` names what is scraped, and no Job."""
_WITHOUT_NAMESPACE: Final = frozenset({"node", "namespace"})

List = Callable[[str, str | None], Any]


class NamedObjects:
    """The objects of one cluster by the labels that name them."""

    def __init__(self, list_objects: List) -> None:
        """`list_objects` is given a kind and a namespace; None for kinds without."""
        self._list = list_objects
        self._found: dict[tuple[str, str | None], dict[str, Any]] = {}

    def find(self, labels: Mapping[str, str], kind: str = "") -> Any:
        """Returns the object; None if no label names one, or the cluster has none of that name. Raises ApiException."""
        for label in [kind] if kind else _KINDS:
            name = labels.get(label)
            namespace = None if label in _WITHOUT_NAMESPACE else labels.get("namespace")
            if not name or (namespace is None and label not in _WITHOUT_NAMESPACE):
                continue
            return self._by_name(_KINDS[label], namespace).get(name)
        return None

    def _by_name(self, kind: str, namespace: str | None) -> dict[str, Any]:
        key = kind, namespace
        if key not in self._found:
            self._found[key] = {each["metadata"]["name"]: each for each in self._list(kind, namespace)}
        return self._found[key]
