"""kubectl's row for a pod. A pod's STATUS is not its phase, but the reason why it is not ready."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows import cells

__all__ = ["cells_of", "status"]

Json = dict[str, Any]
_FINAL_PHASES: Final = ("Succeeded", "Failed")


class _Containers(NamedTuple):
    """A summary of the statuses of a pod's containers."""

    reason: str
    ready: int
    restarts: int
    last_restart: str
    """When a container that was restarted last ended; empty if none was."""
    stuck: bool = False
    """Whether an init container keeps the others from starting."""


def cells_of(pod: Json) -> list[Any]:
    """Returns the cells of a pod's row."""
    found = _containers(pod)
    restarts = str(found.restarts)
    if found.restarts and found.last_restart:
        restarts = f"{found.restarts} ({cells.since(found.last_restart)} ago)"
    wanted = len(cells.elements(pod, "spec.containers")) + len(_sidecars(pod))
    return [
        cells.at(pod, "metadata.name"),
        f"{found.ready}/{wanted}",
        _explain_end(pod, found.reason),
        restarts,
        cells.since(cells.at(pod, "metadata.creationTimestamp")),
        *_wide(pod),
    ]


def status(pod: Json) -> str:
    """Returns a pod's STATUS, such as CrashLoopBackOff or Init:0/1."""
    return _explain_end(pod, _containers(pod).reason)


def _wide(pod: Json) -> list[Any]:
    addresses = cells.elements(pod, "status.podIPs")
    return [
        (addresses[0].get("ip") if addresses else None) or cells.NONE,
        cells.at(pod, "spec.nodeName", cells.NONE),
        cells.at(pod, "status.nominatedNodeName", cells.NONE),
        _gates(pod),
    ]


def _gates(pod: Json) -> str:
    gates = [each.get("conditionType", "") for each in cells.elements(pod, "spec.readinessGates")]
    # Attack: a pod has 10,000 gates and as many conditions.
    true = {each.get("type") for each in cells.elements(pod, "status.conditions") if each.get("status") == "True"}
    met = sum(each in true for each in gates)
    return f"{met}/{len(gates)}" if gates else cells.NONE


def _explain_end(pod: Json, reason: str) -> str:
    """Returns the reason, or the word for a pod that is being deleted."""
    if cells.at(pod, "metadata.deletionTimestamp") is None:
        return reason
    if cells.at(pod, "status.reason") == "NodeLost":
        return "Unknown"
    return reason if cells.at(pod, "status.phase") in _FINAL_PHASES else "Terminating"


def _containers(pod: Json) -> _Containers:
    before = _init_containers(pod, _first_reason(pod))
    if before.stuck and cells.condition(pod, "Initialized") != "True":
        return before
    return _main_containers(pod, before)


def _first_reason(pod: Json) -> str:
    reason = cells.at(pod, "status.reason") or cells.at(pod, "status.phase", "")
    for each in cells.elements(pod, "status.conditions"):
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    return str(reason)


def _sidecars(pod: Json) -> set[str]:
    """Returns the names of the init containers that run alongside the others."""
    found = cells.elements(pod, "spec.initContainers")
    return {each.get("name", "") for each in found if each.get("restartPolicy") == "Always"}


def _init_containers(pod: Json, reason: str) -> _Containers:
    """Reads the init containers up to the first that has not succeeded. Counts all restarts if one is stuck, or else
    those of sidecars."""
    sidecars, total = _sidecars(pod), len(cells.elements(pod, "spec.initContainers"))
    seen: list[Json] = []
    ready = 0
    for index, each in enumerate(cells.elements(pod, "status.initContainerStatuses")):
        seen.append(each)
        if cells.at(each, "state.terminated.exitCode") == 0:
            continue
        if each.get("name") in sidecars and each.get("started"):
            ready += bool(each.get("ready"))
            continue
        return _Containers(f"Init:{_why(each) or f'{index}/{total}'}", ready, _restarts(seen), _last(seen), stuck=True)
    kept = [each for each in seen if each.get("name") in sidecars]
    return _Containers(reason, ready, _restarts(kept), _last(kept))


def _why(container: Json) -> str:
    """Returns why an init container waits or failed; empty while it runs."""
    if (ended := cells.at(container, "state.terminated")) is not None:
        return _end(ended)
    waiting = cells.at(container, "state.waiting.reason", "")
    return "" if waiting == "PodInitializing" else str(waiting)


def _end(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode', 0)}"


def _main_containers(pod: Json, before: _Containers) -> _Containers:
    statuses = cells.elements(pod, "status.containerStatuses")
    sidecars = _sidecars(pod)
    inits = [each for each in cells.elements(pod, "status.initContainerStatuses") if each.get("name") in sidecars]
    reason, failure, ready = before.reason, "", 0
    for each in reversed(statuses):
        ended = cells.at(each, "state.terminated")
        if waiting := cells.at(each, "state.waiting.reason"):
            reason = waiting
        elif ended is not None:
            reason = _end(ended)
            failure = reason if ended.get("exitCode") else failure
        elif each.get("ready") and cells.at(each, "state.running") is not None:
            ready += 1
    if reason == "Completed":
        reason = _beside_completed(pod, failure, running=ready > 0)
    everyone = [*inits, *statuses]
    return _Containers(reason, before.ready + ready, _restarts(everyone), _last(everyone))


def _beside_completed(pod: Json, failure: str, *, running: bool) -> str:
    """Returns the reason for a pod with a completed container."""
    if running and cells.condition(pod, "Ready") == "True":
        return "Running"
    return failure or ("NotReady" if running else "Completed")


def _restarts(statuses: list[Json]) -> int:
    return sum(each.get("restartCount", 0) for each in statuses)


def _last(statuses: list[Json]) -> str:
    # RFC 3339 texts in UTC sort chronologically.
    return max((str(cells.at(each, "lastState.terminated.finishedAt", "")) for each in statuses), default="")
