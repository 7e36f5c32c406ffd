"""kubectl's row for a pod. A pod's STATUS is not simply its phase: if there is a reason why the pod is not ready, that
is shown."""

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
    """Whether an init container keeps the main containers from starting."""


def cells_of(pod: Json) -> list[Any]:
    """Returns the cells of a pod's row."""
    found = _summarize(pod)
    wanted = len(cells.elements(pod, "spec.containers")) + len(_sidecars(pod))
    return [
        cells.name(pod),
        f"{found.ready}/{wanted}",
        _explain_end(pod, found.reason),
        _restarts_cell(found),
        cells.age(pod),
        *_wide_cells(pod),
    ]


def status(pod: Json) -> str:
    """Returns a pod's STATUS, such as CrashLoopBackOff or Init:0/1."""
    found = _summarize(pod)
    return _explain_end(pod, found.reason)


def _restarts_cell(found: _Containers) -> str:
    """Returns a count such as `12 (5m ago)`."""
    if not found.restarts or not found.last_restart:
        return str(found.restarts)
    elapsed = cells.since(found.last_restart)
    return f"{found.restarts} ({elapsed} ago)"


def _wide_cells(pod: Json) -> list[Any]:
    """Returns the cells that only `output="wide"` shows."""
    addresses = cells.elements(pod, "status.podIPs")
    address = addresses[0].get("ip") if addresses else None
    return [
        address or cells.NONE,
        cells.at(pod, "spec.nodeName", cells.NONE),
        cells.at(pod, "status.nominatedNodeName", cells.NONE),
        _gates(pod),
    ]


def _gates(pod: Json) -> str:
    """Returns how many of the readiness gates are met, such as `1/2`."""
    gates = [each.get("conditionType", "") for each in cells.elements(pod, "spec.readinessGates")]
    if not gates:
        return cells.NONE
    conditions = cells.elements(pod, "status.conditions")
    # Attack: a pod has 10,000 gates and as many conditions.
    true = {each.get("type") for each in conditions if each.get("status") == "True"}
    met = sum(each in true for each in gates)
    return f"{met}/{len(gates)}"


def _explain_end(pod: Json, reason: str) -> str:
    """Returns the reason; for a pod that is being deleted, the word for that."""
    if cells.at(pod, "metadata.deletionTimestamp") is None:
        return reason
    if cells.at(pod, "status.reason") == "NodeLost":
        return "Unknown"
    if cells.at(pod, "status.phase") in _FINAL_PHASES:
        return reason
    return "Terminating"


def _summarize(pod: Json) -> _Containers:
    """Returns the summary of a pod's containers, with the reason of the first one that explains the pod's state."""
    before = _read_init_containers(pod, _pod_reason(pod))
    # A restarted init container of a pod that was initialized before does not explain its state.
    if before.stuck and cells.condition(pod, "Initialized") != "True":
        return before
    return _read_main_containers(pod, before)


def _pod_reason(pod: Json) -> str:
    """Returns the reason of the pod itself, such as Evicted, or its phase."""
    reason = cells.at(pod, "status.reason") or cells.at(pod, "status.phase", "")
    for each in cells.elements(pod, "status.conditions"):
        if each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated":
            return "SchedulingGated"
    return str(reason)


def _sidecars(pod: Json) -> set[str]:
    """Returns the names of the init containers that run alongside the others."""
    found = cells.elements(pod, "spec.initContainers")
    sidecars = [each for each in found if each.get("restartPolicy") == "Always"]
    return {each.get("name", "") for each in sidecars}


def _read_init_containers(pod: Json, reason: str) -> _Containers:
    """Reads the init containers up to the first that has not succeeded. Counts all restarts if an init container is
    stuck, or else only those of sidecars."""
    sidecars = _sidecars(pod)
    seen: list[Json] = []
    ready = 0
    for index, each in enumerate(cells.elements(pod, "status.initContainerStatuses")):
        seen.append(each)
        if cells.at(each, "state.terminated.exitCode") == 0:
            continue
        if each.get("name") in sidecars and each.get("started"):
            ready += bool(each.get("ready"))
            continue
        total = len(cells.elements(pod, "spec.initContainers"))
        why = _explain_init(each) or f"{index}/{total}"
        return _Containers(f"Init:{why}", ready, _count_restarts(seen), _find_last_end(seen), stuck=True)
    kept = [each for each in seen if each.get("name") in sidecars]
    return _Containers(reason, ready, _count_restarts(kept), _find_last_end(kept))


def _explain_init(container: Json) -> str:
    """Returns why an init container is waiting or has failed; an empty string while it is running."""
    ended = cells.at(container, "state.terminated")
    if ended is not None:
        return _termination_reason(ended)
    waiting = cells.at(container, "state.waiting.reason", "")
    # A container with this reason is waiting for the containers before it.
    if waiting == "PodInitializing":
        return ""
    return str(waiting)


def _termination_reason(ended: Json) -> str:
    """Returns why a container ended, such as `Error`, `Signal:9` or `ExitCode:1`."""
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _read_main_containers(pod: Json, before: _Containers) -> _Containers:
    """Adds the main containers to the summary of the init containers before them."""
    statuses = cells.elements(pod, "status.containerStatuses")
    reason = before.reason
    failure = ""
    ready = 0
    # As in kubectl, the reason of the first container counts most, so it is read last.
    for each in reversed(statuses):
        waiting = cells.at(each, "state.waiting.reason")
        ended = cells.at(each, "state.terminated")
        if waiting:
            reason = waiting
        elif ended is not None:
            reason = _termination_reason(ended)
            if ended.get("exitCode"):
                failure = reason
        # As in kubectl, a container counts as ready only while it runs.
        elif each.get("ready") and cells.at(each, "state.running") is not None:
            ready += 1
    if reason == "Completed":
        reason = _beside_completed(pod, failure, running=ready > 0)
    sidecars = _sidecars(pod)
    inits = cells.elements(pod, "status.initContainerStatuses")
    everyone = [each for each in inits if each.get("name") in sidecars]
    everyone += statuses
    return _Containers(reason, before.ready + ready, _count_restarts(everyone), _find_last_end(everyone))


def _beside_completed(pod: Json, failure: str, *, running: bool) -> str:
    """Returns the reason for a pod with a completed container."""
    if running and cells.condition(pod, "Ready") == "True":
        return "Running"
    if failure:
        return failure
    return "NotReady" if running else "Completed"


def _count_restarts(statuses: list[Json]) -> int:
    """Returns how often the containers were restarted in total."""
    return sum(each.get("restartCount", 0) for each in statuses)


def _find_last_end(statuses: list[Json]) -> str:
    """Returns when one of the containers ended for the last time; an empty string if none was restarted."""
    ends = [cells.at(each, "lastState.terminated.finishedAt", "") for each in statuses]
    stamps = map(str, ends)
    # RFC 3339 timestamps in UTC sort chronologically as strings.
    return max(stamps, default="")
