"""kubectl_edit_hpa."""

from __future__ import annotations

from typing import Any

from kubescript.guest import tool_errors
from kubescript.guest.kubectl import rollout, write_errors
from kubescript.guest.sdk import client
from kubescript.wire import messages

__all__ = ["kubectl_edit_hpa"]

Bounds = tuple[int, int]
"""The minimum and maximum number of replicas."""


def kubectl_edit_hpa(
    k8s: client.K8s,
    hpa_name: str,
    min_replicas: int | None = None,
    max_replicas: int | None = None,
    namespace: str | None = None,
    *,
    wait: bool = False,
    timeout: float = 120,
) -> str:
    """Changes a HorizontalPodAutoscaler's bounds; with `wait`, follows it until the replicas are within them."""
    target = _target(k8s, hpa_name, namespace)
    found = target.read()
    was = found.spec.min_replicas or 1, found.spec.max_replicas
    now = was[0] if min_replicas is None else min_replicas, was[1] if max_replicas is None else max_replicas
    _check(target, was, now)
    if now == was:
        change = messages.text("hpa_already", target=target, bounds=_range(now))
    else:
        patch = {"spec": _list_changes(was, now)}
        write = k8s.autoscalingV2().patch_namespaced_horizontal_pod_autoscaler
        found = write_errors.send(target.name, lambda: write(target.name, target.namespace, patch))
        if k8s._session.planned:
            return messages.text("hpa_would_change", target=target, was=_range(was), now=_range(now))
        change = messages.text("hpa_changed", target=target, was=_range(was), now=_range(now))
    follows = wait and not k8s._session.planned
    state = rollout.follow(k8s, target, change, timeout, found).text if follows else _judge(found).text
    return messages.text("rollout_done", change=change, state=state)


def _list_changes(was: Bounds, now: Bounds) -> dict[str, int]:
    """Returns the changed fields of the spec."""
    names = ("minReplicas", "maxReplicas")
    return {name: new for name, old, new in zip(names, was, now, strict=True) if new != old}


def _target(k8s: client.K8s, name: str, namespace: str | None) -> rollout.Target:
    api, where = k8s.autoscalingV2(), namespace or "default"
    return rollout.Target(
        kind="hpa",
        namespace=where,
        name=name,
        read=lambda: api.read_namespaced_horizontal_pod_autoscaler(name, where),
        listing=api.list_namespaced_horizontal_pod_autoscaler,
        judge=_judge,
    )


def _check(target: rollout.Target, was: Bounds, now: Bounds) -> None:
    """Raises ToolError if the bounds would cross: the call gave one of them, and the HPA has the other."""
    least, most = now
    if least <= most:
        return
    if least != was[0]:
        raise tool_errors.ToolError("hpa_above_max", target=target, least=least, most=most)
    raise tool_errors.ToolError("hpa_below_min", target=target, least=least, most=most)


def _range(bounds: Bounds) -> str:
    return f"{bounds[0]}-{bounds[1]}"


def _judge(found: Any) -> rollout.Progress:
    """Returns whether the replicas are within the bounds, as progress."""
    least, most = found.spec.min_replicas or 1, found.spec.max_replicas
    current = found.status.current_replicas or 0
    text = messages.text("state_hpa", current=current) + _inactive(found)
    return rollout.Progress(text, current, most, finished=least <= current <= most)


def _inactive(found: Any) -> str:
    """Returns why the HPA does not scale; empty if it does."""
    for each in found.status.conditions or ():
        if each.type in {"AbleToScale", "ScalingActive"} and each.status == "False":
            return f" ({each.message})"
    return ""
