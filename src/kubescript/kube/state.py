"""An object's state, from its status: whether it is running, healthy, or being deleted.

Rules about removals need it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubescript.kube import documents

__all__ = ["State", "of"]

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
"""Kind and phase → whether it is running, or in use."""
_SCALED: Final = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "Rollout", "StatefulSet"})


class State(NamedTuple):
    """An object's state. None: the object's kind has no such state."""

    running: bool | None
    healthy: bool | None
    terminating: bool
    owner: str
    """The object's controller: `ReplicaSet/web-7d4b9c6f5`."""


def of(document: dict[str, Any], kind: str = "") -> State:
    """Returns an object's state; `kind` is used where the object, as an item of a list, does not contain its own."""
    metadata = documents.mapping(document, "metadata")
    status = documents.mapping(document, "status")
    named = document.get("kind")
    if isinstance(named, str) and named:
        kind = named
    running: bool | None = None
    healthy: bool | None = None
    if kind in _SCALED:
        running, healthy = _of_replicas(document, kind)
    elif kind == "DaemonSet":
        wanted = documents.number(status, "desiredNumberScheduled")
        ready = documents.number(status, "numberReady")
        running, healthy = _of_pods(wanted, ready)
    elif kind == "Job":
        running = _of_job(document)
    else:
        phase = str(status.get("phase"))
        running = _PHASES.get((kind, phase))
        if kind == "Pod" and running:
            healthy = documents.has_condition(status, "Ready")
    is_terminating = "deletionTimestamp" in metadata
    return State(running, healthy, is_terminating, documents.controller(metadata))


def _of_replicas(document: dict[str, Any], kind: str) -> tuple[bool | None, bool | None]:
    """Returns whether a workload with replicas is running and healthy."""
    metadata = documents.mapping(document, "metadata")
    spec = documents.mapping(document, "spec")
    status = documents.mapping(document, "status")
    wanted = documents.number(spec, "replicas", 1)
    ready = documents.number(status, "readyReplicas")
    running, healthy = _of_pods(wanted, ready)
    if healthy is None:
        return running, None
    # The status of a controller that has not seen the newest generation is out of date.
    observed = documents.number(status, "observedGeneration")
    is_stale = observed < documents.number(metadata, "generation")
    updated = documents.number(status, "updatedReplicas")
    is_rolling = kind == "Deployment" and updated < wanted
    return running, healthy and not is_stale and not is_rolling


def _of_pods(wanted: int, ready: int) -> tuple[bool | None, bool | None]:
    """Returns whether a workload is running and healthy. One without ready pods may be starting."""
    if wanted == 0:
        return False, None
    running = True if ready else None
    return running, ready >= wanted


def _of_job(document: dict[str, Any]) -> bool | None:
    """Says whether a Job is running; None where its status does not show it."""
    status = documents.mapping(document, "status")
    if documents.has_condition(status, "Complete") or documents.has_condition(status, "Failed"):
        return False
    if documents.number(status, "active"):
        return True
    # A suspended Job runs no pods until it is resumed.
    spec = documents.mapping(document, "spec")
    return False if spec.get("suspend") is True else None
