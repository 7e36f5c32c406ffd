"""What an object does, as its status tells. It means what kubescript's own plans mean by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kubescript_safety.autopsy import fields

__all__ = ["State", "images", "node", "of", "replicas", "uses"]

_PHASES: Final = {
    ("Pod", "Running"): True, ("Pod", "Pending"): False, ("Pod", "Succeeded"): False, ("Pod", "Failed"): False,
    ("PersistentVolumeClaim", "Bound"): True, ("PersistentVolumeClaim", "Pending"): False,
    ("PersistentVolumeClaim", "Lost"): False, ("PersistentVolume", "Bound"): True,
    ("PersistentVolume", "Available"): False, ("PersistentVolume", "Released"): False,
    ("PersistentVolume", "Failed"): False,
}  # fmt: skip
"""Kind and phase → whether it runs, or is in use."""
_SCALED: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "Rollout", "StatefulSet"})
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})


_REFERENCES: Final = {
    "configMap": ("configmaps", "name"),
    "configMapKeyRef": ("configmaps", "name"),
    "configMapRef": ("configmaps", "name"),
    "persistentVolumeClaim": ("persistentvolumeclaims", "claimName"),
    "secret": ("secrets", "secretName"),
    "secretKeyRef": ("secrets", "name"),
    "secretRef": ("secrets", "name"),
}
"""Field of a pod that refers to an object → what the object is, and which field has its name."""


class State(NamedTuple):
    """What an object does. None: its kind says nothing of it."""

    running: bool | None = None
    healthy: bool | None = None
    terminating: bool | None = None
    owners: tuple[str, ...] | None = None


def of(document: dict[str, Any] | None, kind: str = "") -> State:
    """Returns what an object does; `kind` is used where the object, as an item of a list, does not say its own."""
    if document is None:
        return State()
    said = document.get("kind")
    kind = said if isinstance(said, str) and said else kind
    metadata, status = fields.mapping(document, "metadata"), fields.mapping(document, "status")
    running: bool | None = None
    healthy: bool | None = None
    if kind in _SCALED:
        running, healthy = _of_replicas(document, kind)
    elif kind == "DaemonSet":
        running, healthy = _of_pods(_number(status, "desiredNumberScheduled"), _number(status, "numberReady"))
    elif kind == "Job":
        running = _of_job(document)
    else:
        running = _PHASES.get((kind, str(status.get("phase"))))
        healthy = _has(status, "Ready") if kind == "Pod" and running else None
    return State(running, healthy, "deletionTimestamp" in metadata, tuple(_owners(metadata)))


def replicas(body: Any) -> int | None:
    """Returns how many replicas a body asks for."""
    value: Any = fields.mapping(body, "spec").get("replicas")
    for one in body if isinstance(body, list) else ():
        if isinstance(one, dict) and one.get("path") == "/spec/replicas":
            value = one.get("value")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def images(value: Any) -> tuple[str, ...]:
    """Returns the images of all containers, wherever their pods' templates are."""
    found = set()
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, dict):
            rest.extend(value.values())
            for key in _CONTAINERS & value.keys():
                containers = value[key] if isinstance(value[key], list) else ()
                found |= {str(one["image"]) for one in containers if isinstance(one, dict) and one.get("image")}
    return tuple(sorted(found))


def node(document: dict[str, Any] | None) -> str:
    """Returns where a pod runs; empty for other kinds."""
    return str(fields.mapping(document, "spec").get("nodeName") or "")


def uses(document: dict[str, Any] | None) -> tuple[str, ...] | None:
    """Returns what a pod refers to, as `configmaps/settings`. None when nothing is known of the pod."""
    if document is None:
        return None
    found = set()
    rest: list[Any] = [fields.mapping(document, "spec")]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, dict):
            rest.extend(value.values())
            for key, (resource, name) in _REFERENCES.items():
                if isinstance(value.get(key), dict):
                    found.add(f"{resource}/{value[key].get(name)}")
    return tuple(sorted(found))


def _of_replicas(document: dict[str, Any], kind: str) -> tuple[bool | None, bool | None]:
    metadata, spec, status = (fields.mapping(document, part) for part in ("metadata", "spec", "status"))
    wanted = _number(spec, "replicas", 1)
    running, healthy = _of_pods(wanted, _number(status, "readyReplicas"))
    is_stale = _number(status, "observedGeneration") < _number(metadata, "generation")
    is_rolling = kind == "Deployment" and _number(status, "updatedReplicas") < wanted
    return running, bool(healthy) and not is_stale and not is_rolling if healthy is not None else None


def _of_pods(wanted: int, ready: int) -> tuple[bool | None, bool | None]:
    if wanted == 0:
        return False, None
    return (True if ready else None), ready >= wanted


def _of_job(document: dict[str, Any]) -> bool | None:
    status = fields.mapping(document, "status")
    if _has(status, "Complete") or _has(status, "Failed"):
        return False
    if _number(status, "active"):
        return True
    return False if fields.mapping(document, "spec").get("suspend") is True else None


def _has(status: dict[str, Any], name: str) -> bool:
    conditions = status.get("conditions")
    return any(
        isinstance(one, dict) and one.get("type") == name and one.get("status") == "True"
        for one in (conditions if isinstance(conditions, list) else ())
    )


def _owners(metadata: dict[str, Any]) -> Iterator[str]:
    owners = metadata.get("ownerReferences")
    for one in owners if isinstance(owners, list) else ():
        if isinstance(one, dict) and one.get("controller") is True:
            yield f"{one.get('kind')}/{one.get('name')}"[:300]
            return


def _number(value: dict[str, Any], key: str, default: int = 0) -> int:
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else default
