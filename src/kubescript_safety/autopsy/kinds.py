"""Kubernetes kinds and their names: `Deployment`, `deploy` and `deployments.apps` are one resource."""

from __future__ import annotations

from typing import Final

from kubescript.kube import kinds

__all__ = ["CLUSTER", "group_of", "is_kind", "resource"]

_MAX_NAME: Final = 253
"""Attack: an agent sends a kind of a megabyte, with ten thousand names of that kind."""
_SPOKEN: Final = """
pods services configmaps secrets endpoints events serviceaccounts persistentvolumeclaims limitranges resourcequotas
replicationcontrollers podtemplates nodes namespaces persistentvolumes deployments statefulsets daemonsets replicasets
controllerrevisions jobs cronjobs horizontalpodautoscalers ingresses networkpolicies ingressclasses poddisruptionbudgets
roles rolebindings clusterroles clusterrolebindings storageclasses csidrivers csinodes volumeattachments priorityclasses
runtimeclasses leases endpointslices certificatesigningrequests apiservices customresourcedefinitions
mutatingwebhookconfigurations validatingwebhookconfigurations validatingadmissionpolicies
"""
"""Built-in resources that agents name. Others are left out because their names have other meanings: `release`,
`workload`, `binding`."""
_BUILT_IN: Final = {plural: kinds.group_of(plural) for plural in _SPOKEN.split()}
_GROUPS: Final = _BUILT_IN | {"rollouts": "argoproj.io"}
_KINDS: Final = {kinds.BUILT_IN[group][plural].lower(): plural for plural, group in _BUILT_IN.items()}
_OTHER: Final = {"endpoint": "endpoints", "rollout": "rollouts"}
_NAMES: Final = {plural: plural for plural in _GROUPS} | _KINDS | kinds.SHORT_NAMES | _OTHER
CLUSTER: Final = _BUILT_IN.keys() - {plural for _, plural in kinds.NAMESPACED}
"""Cluster-wide resources."""


def resource(name: str) -> str:
    """Returns the plural of a kind or resource, under any of its names and without its group."""
    last = name.strip().rpartition("/")[2][:_MAX_NAME]  # apps/v1/Deployment
    word = last.split(".")[0]
    lower = word.lower()
    if lower in _NAMES:
        return _NAMES[lower]
    # This may be a resource of a CustomResourceDefinition, which is in no table.
    if not word[:1].isupper() and lower.endswith("s"):
        return lower
    if word:
        return kinds.guess_plural(word)
    return ""


def is_kind(name: str) -> bool:
    """Says whether a word is the name of a built-in kind."""
    bare = name.strip().split(".")[0]
    return bare.lower() in _NAMES


def group_of(plural: str) -> str:
    """Returns a resource's group; empty for the core group, and for unknown resources."""
    return _GROUPS.get(plural, "")
