"""Removes the parts of an object that no reader needs: the API server's bookkeeping, empty values, and defaults."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["prune"]

_BOOKKEEPING: Final = frozenset(
    {"managedFields", "uid", "resourceVersion", "generation", "selfLink", "generateName", "creationTimestamp"}
)
"""Metadata fields. The creation time is kept if known."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_REFERENCES: Final = frozenset({"uid", "resourceVersion", "blockOwnerDeletion", "observedGeneration", "containerID"})
"""Fields of built-in kinds that only programs compare."""
_PLURALS: Final = {"podIPs": "podIP", "hostIPs": "hostIP", "clusterIPs": "clusterIP"}
"""Lists, usually of one element, that another field repeats."""
_FREE: Final = frozenset(
    {
        *("data", "binaryData", "stringData", "labels", "annotations", "matchLabels", "selector"),
        *("nodeSelector", "parameters"),
    }
)
"""Maps whose keys are chosen by users, so that they are kept, whatever their names."""
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


def prune(obj: dict[str, Any], *, defaults: bool) -> dict[str, Any]:
    """Returns an object without meaningless fields. `defaults` also removes the defaults of built-in kinds."""
    kept = {key: value for key, value in obj.items() if key != "metadata"}
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key not in _BOOKKEEPING}
    if created := (obj.get("metadata") or {}).get("creationTimestamp"):
        metadata["creationTimestamp"] = created
    if annotations := metadata.get("annotations"):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _LAST_APPLIED}
    head: dict[str, Any] = {key: kept.pop(key) for key in ("apiVersion", "kind") if key in kept}
    return _map({**head, "metadata": metadata, **kept}, defaults=defaults)


def _value(value: Any, *, defaults: bool) -> Any:
    if isinstance(value, dict):
        return _map(value, defaults=defaults)
    if isinstance(value, list):
        kept = [each for each in value if not (defaults and _automatic(each))]
        return [_value(each, defaults=defaults) for each in kept]
    return value


def _map(value: dict[str, Any], *, defaults: bool) -> dict[str, Any]:
    found = {}
    for key, each in value.items():
        if each is None or (defaults and _says_nothing(value, key)):
            continue
        below = each if key in _FREE else _value(each, defaults=defaults)
        if below not in ({}, []) or key not in _EMPTY:
            found[key] = below
    return _pod(found) if defaults and "containers" in found else found


def _says_nothing(parent: dict[str, Any], key: str) -> bool:
    value = parent[key]
    if key in _PLURALS:
        return bool(value == [parent.get(_PLURALS[key])] or value == [{"ip": parent.get(_PLURALS[key])}])
    return key in _REFERENCES or value in _DEFAULTS.get(key, ())


def _pod(spec: dict[str, Any]) -> dict[str, Any]:
    """Returns a pod's spec without a deprecated field name, and without the restart policy if it is the default. In an
    init container, the same policy makes a sidecar."""
    same = spec.get("serviceAccount") == spec.get("serviceAccountName")
    usual = spec.get("restartPolicy") == "Always"
    silent = [name for name, drop in (("serviceAccount", same), ("restartPolicy", usual)) if drop]
    return {key: value for key, value in spec.items() if key not in silent}


def _automatic(value: Any) -> bool:
    """Says whether admission adds this element to every pod: the API token and its mount, and the tolerations of
    unhealthy nodes."""
    if not isinstance(value, dict):
        return False
    if str(value.get("name", "")).startswith(_API_ACCESS):
        return "projected" in value or "mountPath" in value
    return value.get("key") in _NODE_TROUBLE and value.get("tolerationSeconds") == 300
