"""What an object does, as its status tells: whether it runs, whether it is well, whether it is on its way out.

The rules about removals need it, and the host never reads a status itself. Who wrote the object is unknown: a value of
another type than the API has says nothing.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.wire import masking

__all__ = ["mapping", "of"]

_MAX_OWNER: Final = 300
_PHASES: Final = {
    ("Pod", "Running"): True,
    ("Pod", "Pending"): False,
    ("Pod", "Succeeded"): False,
    ("Pod", "Failed"): False,
    ("PersistentVolumeClaim", "Bound"): True,
    ("PersistentVolumeClaim", "Pending"): False,
    ("PersistentVolumeClaim", "Lost"): False,
    ("PersistentVolume", "Bound"): True,
    ("PersistentVolume", "Available"): False,
    ("PersistentVolume", "Released"): False,
    ("PersistentVolume", "Failed"): False,
}
"""Kind and phase → whether it runs, or is in use."""
_SCALED: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "Rollout", "StatefulSet"})


def of(document: dict[str, Any]) -> masking.State:
    """Returns what an object does."""
    metadata, status = mapping(document, "metadata"), mapping(document, "status")
    kind = document.get("kind")
    kind = kind if isinstance(kind, str) else ""
    running: bool | None = None
    healthy: bool | None = None
    if kind in _SCALED:
        running, healthy = _of_replicas(document)
    elif kind == "DaemonSet":
        running, healthy = _of_pods(_number(status, "desiredNumberScheduled"), _number(status, "numberReady"))
    elif kind == "Job":
        running = _of_job(document)
    else:
        running = _PHASES.get((kind, str(status.get("phase"))))
        healthy = _is_ready(status) if kind == "Pod" and running else None
    return masking.State(
        running=running,
        healthy=healthy,
        terminating="deletionTimestamp" in metadata,
        owner=_owner(metadata),
    )


def mapping(value: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns a member that is an object; an empty one where it is none."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _of_replicas(document: dict[str, Any]) -> tuple[bool | None, bool | None]:
    """Judges a workload that has replicas."""
    metadata, spec, status = (mapping(document, part) for part in ("metadata", "spec", "status"))
    running, healthy = _of_pods(_number(spec, "replicas", 1), _number(status, "readyReplicas"))
    # A controller that has not seen the newest generation tells of an older one.
    is_stale = _number(status, "observedGeneration") < _number(metadata, "generation")
    is_rolling = document["kind"] == "Deployment" and _number(status, "updatedReplicas") < _number(spec, "replicas", 1)
    return running, bool(healthy) and not is_stale and not is_rolling if healthy is not None else None


def _of_pods(wanted: int, ready: int) -> tuple[bool | None, bool | None]:
    """Returns whether a workload runs, and whether it is well. One of which no pod is ready may be starting."""
    if wanted == 0:
        return False, None
    return (True if ready else None), ready >= wanted


def _of_job(document: dict[str, Any]) -> bool | None:
    status = mapping(document, "status")
    if _has(status, "Complete") or _has(status, "Failed"):
        return False
    if _number(status, "active"):
        return True
    return False if mapping(document, "spec").get("suspend") is True else None


def _is_ready(status: dict[str, Any]) -> bool:
    return _has(status, "Ready")


def _has(status: dict[str, Any], name: str) -> bool:
    """Says whether a condition holds."""
    conditions = status.get("conditions")
    return any(
        isinstance(one, dict) and one.get("type") == name and one.get("status") == "True"
        for one in (conditions if isinstance(conditions, list) else ())
    )


def _owner(metadata: dict[str, Any]) -> str:
    """Returns the controller: `ReplicaSet/web-7d4b9c6f5`."""
    owners = metadata.get("ownerReferences")
    for one in owners if isinstance(owners, list) else ():
        if isinstance(one, dict) and one.get("controller") is True:
            return f"{one.get('kind')}/{one.get('name')}"[:_MAX_OWNER]
    return ""


def _number(value: dict[str, Any], key: str, default: int = 0) -> int:
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else default
