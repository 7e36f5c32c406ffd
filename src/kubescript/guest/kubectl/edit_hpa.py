"""kubectl_edit_hpa."""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.kubectl import rollout, write_errors
from kubescript.guest.kubectl.rollout import Progress, Target
from kubescript.guest.sdk import client
from kubescript.guest.tool_errors import ToolError
from kubescript.wire import messages

__all__ = ["kubectl_edit_hpa"]

_ACTIVITY: Final = ("AbleToScale", "ScalingActive")
"""The conditions of an HPA that scales."""

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
    was = _bounds(found)
    now = _change_bounds(was, min_replicas, max_replicas)
    _check(target, was, now)
    before = _range(was)
    after = _range(now)
    if now == was:
        change = messages.text("hpa_already", target=target, bounds=after)
    else:
        # An unchanged bound is not sent.
        patch = {"spec": _list_changes(was, now)}
        write = k8s.autoscalingV2().patch_namespaced_horizontal_pod_autoscaler
        found = write_errors.send(target.name, lambda: write(target.name, target.namespace, patch))
        if k8s._session.planned:
            return messages.text("hpa_would_change", target=target, was=before, now=after)
        change = messages.text("hpa_changed", target=target, was=before, now=after)
    # A change that is only planned has not happened, so there is nothing to wait for.
    if wait and not k8s._session.planned:
        progress = rollout.follow(k8s, target, change, timeout, found)
    else:
        progress = _judge(found)
    return messages.text("rollout_done", change=change, state=progress.text)


def _bounds(found: Any) -> Bounds:
    """Returns an HPA's bounds."""
    spec = found.spec
    # The API server's default for the minimum is 1.
    return spec.min_replicas or 1, spec.max_replicas


def _change_bounds(was: Bounds, min_replicas: int | None, max_replicas: int | None) -> Bounds:
    """Returns the bounds after a change. A bound that the caller has not given stays unchanged."""
    least, most = was
    if min_replicas is not None:
        least = min_replicas
    if max_replicas is not None:
        most = max_replicas
    return least, most


def _list_changes(was: Bounds, now: Bounds) -> dict[str, int]:
    """Returns the changed fields of the spec."""
    least, most = now
    changes = {}
    if least != was[0]:
        changes["minReplicas"] = least
    if most != was[1]:
        changes["maxReplicas"] = most
    return changes


def _target(k8s: client.K8s, name: str, namespace: str | None) -> Target:
    api = k8s.autoscalingV2()
    where = namespace or "default"
    return Target(
        kind="hpa",
        namespace=where,
        name=name,
        read=lambda: api.read_namespaced_horizontal_pod_autoscaler(name, where),
        listing=api.list_namespaced_horizontal_pod_autoscaler,
        judge=_judge,
    )


def _check(target: Target, was: Bounds, now: Bounds) -> None:
    """Raises ToolError if the bounds would cross: the call gave one of them, and the HPA has the other."""
    least, most = now
    if least <= most:
        return
    # The error names the argument that the call gave.
    if least != was[0]:
        raise ToolError("hpa_above_max", target=target, least=least, most=most)
    raise ToolError("hpa_below_min", target=target, least=least, most=most)


def _range(bounds: Bounds) -> str:
    least, most = bounds
    return f"{least}-{most}"


def _judge(found: Any) -> Progress:
    """Returns the progress, which says whether the replicas are within the bounds."""
    least, most = _bounds(found)
    current = found.status.current_replicas or 0
    state = messages.text("state_hpa", current=current)
    is_within = least <= current <= most
    return Progress(state + _explain_inactive(found), current, most, finished=is_within)


def _explain_inactive(found: Any) -> str:
    """Returns why the HPA does not scale; an empty string if it does."""
    for each in found.status.conditions or ():
        if each.type in _ACTIVITY and each.status == "False":
            return f" ({each.message})"
    return ""
