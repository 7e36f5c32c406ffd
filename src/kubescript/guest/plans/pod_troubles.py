"""Explains why a workload's pods are not ready, from the containers' states, the scheduler's message and events."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from kubescript.guest.kubectl.describe import events, subject
from kubescript.guest.kubectl.rows import cells, pod_cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions

__all__ = ["why"]

Json = dict[str, Any]
_MAX_PODS: Final = 3
"""How many pods are explained."""
_MAX_TEXT: Final = 200
"""How many characters of the cluster's message about a pod are shown."""


def why(k8s: client.K8s, workload: Json) -> list[str]:
    """Returns `pod web-x: ImagePullBackOff: …` for the first pods of a workload that are not ready; without such pods,
    the reason why none can be created."""
    namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    selector = cells.selector(cells.at(workload, "spec.selector"))
    pods = _read(functools.partial(k8s.coreV1().list_namespaced_pod, namespace, label_selector=selector))
    if isinstance(pods, Exception):
        return [f"its pods could not be read: {_line(subject.reason(pods))}"]
    stuck = [each for each in pods if _is_stuck(each)]
    lines = [f"pod {cells.line(cells.name(each))}: {_trouble(k8s, each)}" for each in stuck[:_MAX_PODS]]
    if len(stuck) > _MAX_PODS:
        lines.append(f"{len(stuck) - _MAX_PODS} more pods are not ready")
    return lines or _unmade(k8s, workload, namespace, name)


def _is_stuck(pod: Json) -> bool:
    ends = cells.at(pod, "metadata.deletionTimestamp") or cells.at(pod, "status.phase") == "Succeeded"
    return not ends and cells.condition(pod, "Ready") != "True"


def _trouble(k8s: client.K8s, pod: Json) -> str:
    unscheduled = _condition(pod, "PodScheduled")
    if unscheduled.get("status") == "False":
        return _line(f"{unscheduled.get('reason', 'Pending')}: {unscheduled.get('message', '')}")
    said = _of_containers(pod) or _of_events(k8s, cells.at(pod, "metadata.namespace"), "Pod", cells.name(pod))
    said = said or _condition(pod, "Ready").get("message", "")
    return _line(": ".join(filter(None, (pod_cells.status(pod), said))))


def _of_containers(pod: Json) -> str:
    """Returns the message of the first container that waits or has ended."""
    for group in ("status.initContainerStatuses", "status.containerStatuses"):
        for each in cells.elements(pod, group):
            message = cells.at(each, "state.waiting.message") or cells.at(each, "state.terminated.message")
            if message:
                return str(message)
    return ""


def _of_events(k8s: client.K8s, namespace: str, kind: str, name: str) -> str:
    """Returns the last warning about an object."""
    selector = f"involvedObject.kind={kind},involvedObject.name={name},type=Warning"
    found = _read(functools.partial(k8s.coreV1().list_namespaced_event, namespace, field_selector=selector))
    if isinstance(found, Exception) or not found:
        return ""
    last = max(found, key=events.find_last_time)
    return f"{last.get('reason', '')}: {last.get('message', '')}"


def _unmade(k8s: client.K8s, workload: Json, namespace: str, name: str) -> list[str]:
    """Returns why pods cannot be created, such as an exhausted quota."""
    failure = _condition(workload, "ReplicaFailure")
    if failure.get("status") == "True":
        return [_line(failure.get("message", ""))]
    said = _of_events(k8s, namespace, str(workload.get("kind")), name)
    return [_line(said)] if said else []


def _condition(found: Json, name: str) -> Json:
    return next((each for each in cells.elements(found, "status.conditions") if each.get("type") == name), {})


def _read(read: Callable[[], Any]) -> Any:
    """Returns plain data, or a failed call's ApiException."""
    try:
        return subject.plain(read())
    except exceptions.ApiException as error:
        return error


def _line(text: object) -> str:
    line = cells.line(text)
    return line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
