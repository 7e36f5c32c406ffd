"""kubectl_scale_deployment and kubectl_restart_deployment."""

from __future__ import annotations

from typing import Any

from kubescript.guest import tool_errors
from kubescript.guest.kubectl import rollout, write_errors
from kubescript.guest.sdk import client, intents
from kubescript.wire import messages

__all__ = ["judge", "kubectl_restart_deployment", "kubectl_scale_deployment"]


def kubectl_scale_deployment(
    k8s: client.K8s,
    deployment_name: str,
    replicas: int,
    namespace: str | None = None,
    *,
    wait: bool = False,
    timeout: float = 300,
) -> str:
    """Scales a Deployment; with `wait`, follows it until its pods are ready."""
    target = _target(k8s, deployment_name, namespace)
    found = target.read()
    was, known = _count(found.spec.replicas), None
    if was == replicas:
        change, known = messages.text("scaled_already", target=target, now=replicas), found
    else:
        write_errors.send(target.name, lambda: k8s.scale(found, replicas))
        if k8s._session.planned:
            return messages.text("would_scale", target=target, was=was, now=replicas)
        change = messages.text("scaled", target=target, was=was, now=replicas)
    state = messages.text("state_so_far", ready=_count(found.status.ready_replicas))
    if wait and not k8s._session.planned:
        state = rollout.follow(k8s, target, change, timeout, known).text
    return messages.text("rollout_done", change=change, state=state)


def kubectl_restart_deployment(
    k8s: client.K8s,
    deployment_name: str,
    namespace: str | None = None,
    *,
    wait: bool = False,
    timeout: float = 300,
) -> str:
    """Replaces a Deployment's pods gradually; with `wait`, follows the rollout to its end."""
    target = _target(k8s, deployment_name, namespace)
    found = target.read()
    if found.spec.paused:
        raise tool_errors.ToolError("restart_paused", target=target)
    changed = write_errors.send(target.name, lambda: k8s.restart(found))
    if k8s._session.planned:
        return messages.text("would_restart", target=target)
    now = changed.spec.template.metadata.annotations[intents.RESTARTED_AT]
    change = messages.text("restarted", target=target, at=now)
    state = messages.text("state_restarting", count=_count(found.spec.replicas))
    if wait:
        state = rollout.follow(k8s, target, change, timeout, changed).text
    return messages.text("rollout_done", change=change, state=state)


def _target(k8s: client.K8s, name: str, namespace: str | None) -> rollout.Target:
    apps, where = k8s.appsV1(), namespace or "default"
    return rollout.Target(
        kind="deployment",
        namespace=where,
        name=name,
        read=lambda: apps.read_namespaced_deployment(name, where),
        listing=apps.list_namespaced_deployment,
        judge=judge,
    )


def judge(found: Any) -> rollout.Progress:
    """Returns a Deployment's progress, by the rules of `kubectl rollout status`.

    One rule is stricter: pods beyond the wanted number must have ended. Raises ToolError when the Deployment's own
    deadline has passed.
    """
    spec, status = found.spec, found.status
    wanted, have = _count(spec.replicas), _count(status.replicas)
    updated, available = _count(status.updated_replicas), _count(status.available_replicas)
    if found.metadata.generation > _count(status.observed_generation):
        return rollout.Progress(messages.text("state_unobserved", kind="deployment"), total=wanted)
    _check_conditions(found)
    # A paused Deployment can be scaled, but its pods keep their template.
    current = have if spec.paused else updated
    if current < wanted:
        text = messages.text("state_updated", updated=current, wanted=wanted)
    elif have > wanted:
        text = messages.text("state_ending", count=have - wanted)
    elif have > current:
        text = messages.text("state_ending", count=have - current)
    elif available < current:
        text = messages.text("state_available", available=available, wanted=wanted)
    else:
        text = messages.text("state_ready", ready=_count(status.ready_replicas), wanted=wanted)
        return rollout.Progress(text, available, wanted, finished=True)
    return rollout.Progress(text + _failure(found), min(available, wanted), wanted)


def _check_conditions(found: Any) -> None:
    progressing = _condition(found, "Progressing")
    if progressing is not None and progressing.reason == "ProgressDeadlineExceeded":
        raise tool_errors.ToolError("rollout_stuck", name=found.metadata.name, details=progressing.message)


def _failure(found: Any) -> str:
    """Returns why pods cannot be created, such as an exhausted quota; empty if they can."""
    failure = _condition(found, "ReplicaFailure")
    return f" ({failure.message})" if failure is not None and failure.status == "True" else ""


def _condition(found: Any, name: str) -> Any:
    return next((each for each in found.status.conditions or () if each.type == name), None)


def _count(number: int | None) -> int:
    return number or 0
