"""Removes the parts of an object that no reader needs: the API server's bookkeeping, empty values, and defaults."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, Final

__all__ = ["prune"]

Object = dict[str, Any]

# Fields of the metadata. The creation time is not among them: it is kept if it is known.
_BOOKKEEPING: Final = frozenset(
    {"managedFields", "uid", "resourceVersion", "generation", "selfLink", "generateName", "creationTimestamp"}
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# Fields of built-in kinds that only programs use, to compare objects.
_REFERENCES: Final = frozenset({"uid", "resourceVersion", "blockOwnerDeletion", "observedGeneration", "containerID"})
# Lists, usually of one element, that another field repeats.
_PLURALS: Final = {"podIPs": "podIP", "hostIPs": "hostIP", "clusterIPs": "clusterIP"}
# Maps whose keys are chosen by users, so all keys are kept, whatever their names.
_FREE: Final = frozenset(
    {
        *("data", "binaryData", "stringData", "labels", "annotations", "matchLabels", "selector"),
        *("nodeSelector", "parameters"),
    }
)
# `{}` has a meaning in most fields: `emptyDir: {}` is a volume, `podSelector: {}` selects all pods.
_EMPTY: Final = frozenset(
    {
        *("annotations", "labels", "lastState", "loadBalancer", "metadata", "resources", "securityContext", "status"),
        *("args", "conditions", "env", "finalizers", "ownerReferences", "strategy", "tolerations"),
        *("volumeMounts", "volumes"),
    }
)
_DEFAULTS: Final[dict[str, tuple[Any, ...]]] = {
    "dnsPolicy": ("ClusterFirst",),
    "enableServiceLinks": (True,),
    "failureThreshold": (3,),
    "imagePullPolicy": ("IfNotPresent",),
    "internalTrafficPolicy": ("Cluster",),
    "ipFamilies": (["IPv4"],),
    "ipFamilyPolicy": ("SingleStack",),
    "periodSeconds": (10,),
    "preemptionPolicy": ("PreemptLowerPriority",),
    "priority": (0,),
    "progressDeadlineSeconds": (600,),
    "protocol": ("TCP",),
    "revisionHistoryLimit": (10,),
    "schedulerName": ("default-scheduler",),
    "scheme": ("HTTP",),
    "sessionAffinity": ("None",),
    "successThreshold": (1,),
    "terminationGracePeriodSeconds": (30,),
    "terminationMessagePath": ("/dev/termination-log",),
    "terminationMessagePolicy": ("File",),
    "timeoutSeconds": (1,),
}
"""Fields of built-in kinds, and the API server's defaults for them."""
_API_ACCESS: Final = "kube-api-access-"
_NODE_TROUBLE: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def prune(obj: Object, *, defaults: bool) -> Object:
    """Returns an object without meaningless fields. `defaults` also removes the defaults of built-in kinds."""
    # These three come first, whatever their order in the object.
    found: Object = {}
    for key in ("apiVersion", "kind"):
        if key in obj:
            found[key] = obj[key]
    metadata = obj.get("metadata") or {}
    found["metadata"] = _prune_metadata(metadata)
    for key, value in obj.items():
        found.setdefault(key, value)
    return _prune_map(found, defaults=defaults)


def _prune_metadata(metadata: Object) -> Object:
    """Returns metadata without the API server's bookkeeping."""
    found = _drop(metadata, _BOOKKEEPING)
    created = metadata.get("creationTimestamp")
    if created:
        found["creationTimestamp"] = created
    annotations = metadata.get("annotations")
    if annotations:
        # kubectl keeps a copy of the whole object in this annotation.
        found["annotations"] = _drop(annotations, {_LAST_APPLIED})
    return found


def _drop(found: Object, keys: Container[str]) -> Object:
    """Returns a map without the given keys."""
    return {key: value for key, value in found.items() if key not in keys}


def _prune_value(value: Any, *, defaults: bool) -> Any:
    """Returns a value without fields that tell a reader nothing."""
    if isinstance(value, dict):
        return _prune_map(value, defaults=defaults)
    if isinstance(value, list):
        kept = [each for each in value if not (defaults and _is_automatic(each))]
        return [_prune_value(each, defaults=defaults) for each in kept]
    return value


def _prune_map(value: Object, *, defaults: bool) -> Object:
    """Returns a map without fields that tell a reader nothing, at any depth."""
    found = {}
    for key, each in value.items():
        if each is None or (defaults and _is_redundant(value, key)):
            continue
        below = each if key in _FREE else _prune_value(each, defaults=defaults)
        if below not in ({}, []) or key not in _EMPTY:
            found[key] = below
    if defaults and "containers" in found:
        _prune_pod_spec(found)
    return found


def _is_redundant(parent: Object, key: str) -> bool:
    """Says whether a field of a built-in kind tells a reader nothing new."""
    value = parent[key]
    if key in _PLURALS:
        single = parent.get(_PLURALS[key])
        # A pod's addresses are objects, and a Service's are strings.
        return value in ([single], [{"ip": single}])
    return key in _REFERENCES or value in _DEFAULTS.get(key, ())


def _prune_pod_spec(spec: Object) -> None:
    """Removes a deprecated field name from a pod's spec, and the restart policy if it is the default. In an init
    container, the same field makes the container a sidecar, so it is kept there."""
    if spec.get("serviceAccount") == spec.get("serviceAccountName"):
        spec.pop("serviceAccount", None)
    if spec.get("restartPolicy") == "Always":
        del spec["restartPolicy"]


def _is_automatic(value: Any) -> bool:
    """Says whether admission adds this element to every pod: the API token and its mount, and the tolerations of
    unhealthy nodes."""
    if not isinstance(value, dict):
        return False
    name = str(value.get("name", ""))
    if name.startswith(_API_ACCESS):
        return "projected" in value or "mountPath" in value
    # Tolerations of the same taints that a user has added are kept, since their time is different.
    return value.get("key") in _NODE_TROUBLE and value.get("tolerationSeconds") == 300
