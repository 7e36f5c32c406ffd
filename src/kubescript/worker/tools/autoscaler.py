"""kubectl_edit_hpa."""

from __future__ import annotations

from typing import Any

from kubescript.wire import messages
from kubescript.worker.sdk import client
from kubescript.worker.tools import errors, rollout, writes

__all__ = ["kubectl_edit_hpa"]


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
    """Change the bounds of a HorizontalPodAutoscaler; with `wait`, until the replicas are within them."""
    target = _target(k8s, hpa_name, namespace)
    found = target.read()
    was = found.spec.min_replicas or 1, found.spec.max_replicas
    now = was[0] if min_replicas is None else min_replicas, was[1] if max_replicas is None else max_replicas
    _check(target, was, now)
    bounds = {"minReplicas": (was[0], now[0]), "maxReplicas": (was[1], now[1])}
    changed = {name: new for name, (old, new) in bounds.items() if old != new}
    change = messages.text("hpa_already", target=target, least=now[0], most=now[1])
    if changed:
        patch = {"spec": changed}
        api = k8s.autoscalingV2()
        writes.send(api.patch_namespaced_horizontal_pod_autoscaler, target.name, target.namespace, patch)
        old, new = _range(was), _range(now)
        change = messages.text("hpa_changed", target=target, was=old, now=new)
    if not wait:
        return messages.text("rollout_done", change=change, state=_judged(found).text)
    end = rollout.follow(k8s, target, change, timeout)
    return messages.text("rollout_done", change=change, state=end.text)


def _target(k8s: client.K8s, name: str, namespace: str | None) -> rollout.Target:
    api, where = k8s.autoscalingV2(), namespace or "default"
    return rollout.Target(
        kind="hpa",
        namespace=where,
        name=name,
        read=lambda: api.read_namespaced_horizontal_pod_autoscaler(name, where),
        listing=api.list_namespaced_horizontal_pod_autoscaler,
        judge=_judged,
    )


def _check(target: rollout.Target, was: tuple[int, int], now: tuple[int, int]) -> None:
    """Raises ToolError when the bounds would cross: the call gave one of them, and the HPA has the other."""
    least, most = now
    if least <= most:
        return
    if least != was[0]:
        raise errors.ToolError("hpa_above_max", target=target, least=least, most=most)
    raise errors.ToolError("hpa_below_min", target=target, least=least, most=most)


def _range(bounds: tuple[int, int]) -> str:
    return f"{bounds[0]}-{bounds[1]}"


def _judged(found: Any) -> rollout.Progress:
    """Returns whether the replicas are within the bounds."""
    least, most = found.spec.min_replicas or 1, found.spec.max_replicas
    current = found.status.current_replicas or 0
    text = messages.text("state_hpa", current=current) + _inactive(found)
    return rollout.Progress(text, current, most, finished=least <= current <= most)


def _inactive(found: Any) -> str:
    """Returns why the HPA does not scale; empty when it does."""
    for each in found.status.conditions or ():
        if each.type in {"AbleToScale", "ScalingActive"} and each.status == "False":
            return f" ({each.message})"
    return ""
