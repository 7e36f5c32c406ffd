"""Explains why a workload's pods are not ready, from the containers' states, the scheduler's message and events."""

from __future__ import annotations

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
    """Returns `pod web-x: ImagePullBackOff: …` for the first pods of a workload that are not ready; if there are no
    such pods, the reason why none can be created."""
    metadata = workload["metadata"]
    namespace = metadata["namespace"]
    selector = cells.selector(cells.at(workload, "spec.selector"))
    pods = _read(k8s.coreV1().list_namespaced_pod, namespace, label_selector=selector)
    if isinstance(pods, Exception):
        return [f"its pods could not be read: {_line(subject.reason(pods))}"]
    stuck = [each for each in pods if _is_stuck(each)]
    if not stuck:
        return _explain_missing(k8s, workload, namespace, metadata["name"])
    lines = []
    for pod in stuck[:_MAX_PODS]:
        name = cells.line(cells.name(pod))
        lines.append(f"pod {name}: {_explain(k8s, pod)}")
    if len(stuck) > _MAX_PODS:
        lines.append(f"{len(stuck) - _MAX_PODS} more pods are not ready")
    return lines


def _is_stuck(pod: Json) -> bool:
    """Says whether a pod should be ready but is not."""
    # A pod that is ending is not ready either, but is no problem.
    if cells.at(pod, "metadata.deletionTimestamp") or cells.at(pod, "status.phase") == "Succeeded":
        return False
    return cells.condition(pod, "Ready") != "True"


def _explain(k8s: client.K8s, pod: Json) -> str:
    """Returns why a pod is not ready: according to the scheduler, its containers, its events, or its condition, in this
    order."""
    unscheduled = _condition(pod, "PodScheduled")
    if unscheduled.get("status") == "False":
        reason = unscheduled.get("reason", "Pending")
        return _line(f"{reason}: {unscheduled.get('message', '')}")
    message = _container_message(pod)
    if not message:
        message = _last_warning(k8s, cells.at(pod, "metadata.namespace"), "Pod", cells.name(pod))
    if not message:
        message = _condition(pod, "Ready").get("message", "")
    parts = filter(None, (pod_cells.status(pod), message))
    return _line(": ".join(parts))


def _container_message(pod: Json) -> str:
    """Returns the message of the first container that is waiting or has ended."""
    # Init containers run first, and meanwhile the other containers wait without a message.
    for group in ("status.initContainerStatuses", "status.containerStatuses"):
        for each in cells.elements(pod, group):
            message = cells.at(each, "state.waiting.message") or cells.at(each, "state.terminated.message")
            if message:
                return str(message)
    return ""


def _last_warning(k8s: client.K8s, namespace: str, kind: str, name: str) -> str:
    """Returns the last warning about an object."""
    selector = f"involvedObject.kind={kind},involvedObject.name={name},type=Warning"
    found = _read(k8s.coreV1().list_namespaced_event, namespace, field_selector=selector)
    # The reason is only a detail of the outcome, so the outcome is reported even without it.
    if isinstance(found, Exception) or not found:
        return ""
    last = max(found, key=events.find_last_time)
    reason = last.get("reason", "")
    return f"{reason}: {last.get('message', '')}"


def _explain_missing(k8s: client.K8s, workload: Json, namespace: str, name: str) -> list[str]:
    """Returns why pods cannot be created, such as an exhausted quota."""
    failure = _condition(workload, "ReplicaFailure")
    if failure.get("status") == "True":
        return [_line(failure.get("message", ""))]
    # StatefulSets and DaemonSets have no such condition, only events.
    warning = _last_warning(k8s, namespace, str(workload.get("kind")), name)
    return [_line(warning)] if warning else []


def _condition(found: Json, name: str) -> Json:
    """Returns one of an object's conditions; an empty map if it has none of this type."""
    conditions: list[Json] = cells.elements(found, "status.conditions")
    for each in conditions:
        if each.get("type") == name:
            return each
    return {}


def _read(method: Callable[..., Any], namespace: str, **options: str) -> Any:
    """Returns plain data, or a failed call's ApiException."""
    try:
        return subject.plain(method(namespace, **options))
    except exceptions.ApiException as error:
        return error


def _line(text: object) -> str:
    line = cells.line(text)
    if len(line) <= _MAX_TEXT:
        return line
    return f"{line[:_MAX_TEXT]}…"
