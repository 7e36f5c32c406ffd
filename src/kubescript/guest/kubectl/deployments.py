"""kubectl_scale_deployment and kubectl_restart_deployment."""

from __future__ import annotations

from typing import Any

from kubescript.guest.kubectl import rollout, write_errors
from kubescript.guest.kubectl.rollout import Progress, Target
from kubescript.guest.sdk import client, intents
from kubescript.guest.tool_errors import ToolError
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
    was = _count(found.spec.replicas)
    known = None
    # Repeating the same call sends nothing, and can resume an earlier wait.
    if was == replicas:
        change = messages.text("scaled_already", target=target, now=replicas)
        known = found
    else:
        write_errors.send(target.name, lambda: k8s.scale(found, replicas))
        if k8s._session.planned:
            return messages.text("would_scale", target=target, was=was, now=replicas)
        change = messages.text("scaled", target=target, was=was, now=replicas)
    state = messages.text("state_so_far", ready=_count(found.status.ready_replicas))
    # A change that is only planned has not happened, so there is nothing to wait for.
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
    # As in kubectl: the controller would not replace a paused Deployment's pods.
    if found.spec.paused:
        raise ToolError("restart_paused", target=target)
    changed = write_errors.send(target.name, lambda: k8s.restart(found))
    if k8s._session.planned:
        return messages.text("would_restart", target=target)
    now = changed.spec.template.metadata.annotations[intents.RESTARTED_AT]
    change = messages.text("restarted", target=target, at=now)
    state = messages.text("state_restarting", count=_count(found.spec.replicas))
    if wait:
        state = rollout.follow(k8s, target, change, timeout, changed).text
    return messages.text("rollout_done", change=change, state=state)


def _target(k8s: client.K8s, name: str, namespace: str | None) -> Target:
    apps = k8s.appsV1()
    where = namespace or "default"
    return Target(
        kind="deployment",
        namespace=where,
        name=name,
        read=lambda: apps.read_namespaced_deployment(name, where),
        listing=apps.list_namespaced_deployment,
        judge=judge,
    )


def judge(found: Any) -> Progress:
    """Returns a Deployment's progress, by the rules of `kubectl rollout status`.

    Raises ToolError when the Deployment's own deadline has passed.
    """
    spec = found.spec
    status = found.status
    wanted = _count(spec.replicas)
    have = _count(status.replicas)
    updated = _count(status.updated_replicas)
    available = _count(status.available_replicas)
    # The controller has not seen the change yet, so the status is that of the earlier spec.
    if found.metadata.generation > _count(status.observed_generation):
        text = messages.text("state_unobserved", kind="deployment")
        return Progress(text, total=wanted)
    _check_conditions(found)
    # A paused Deployment can be scaled, but its pods keep their template.
    current = have if spec.paused else updated
    if current < wanted:
        text = messages.text("state_updated", updated=current, wanted=wanted)
    # Stricter than kubectl, which regards a rollout as done while pods beyond the wanted number are still running.
    elif have > wanted:
        text = messages.text("state_ending", count=have - wanted)
    elif have > current:
        text = messages.text("state_ending", count=have - current)
    elif available < current:
        text = messages.text("state_available", available=available, wanted=wanted)
    else:
        text = messages.text("state_ready", ready=_count(status.ready_replicas), wanted=wanted)
        return Progress(text, available, wanted, finished=True)
    return Progress(text + _failure(found), min(available, wanted), wanted)


def _check_conditions(found: Any) -> None:
    """Raises ToolError when the Deployment's own deadline has passed."""
    progressing = _find_condition(found, "Progressing")
    if progressing is None or progressing.reason != "ProgressDeadlineExceeded":
        return
    name = found.metadata.name
    raise ToolError("rollout_stuck", name=name, details=progressing.message)


def _failure(found: Any) -> str:
    """Returns why pods cannot be created, such as an exhausted quota; an empty string if they can."""
    failure = _find_condition(found, "ReplicaFailure")
    if failure is None or failure.status != "True":
        return ""
    return f" ({failure.message})"


def _find_condition(found: Any, name: str) -> Any:
    """Returns the condition of this type; None if there is none."""
    for each in found.status.conditions or ():
        if each.type == name:
            return each
    return None


def _count(number: int | None) -> int:
    # The API server leaves out counts of zero.
    return number or 0
