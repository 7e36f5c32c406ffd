"""plan_rollouts: the outcome for the workloads and Services that an applied plan has changed. The host runs it as a
script.

A worker reads one watch at a time. Several workloads take turns, and a change between two turns is seen in the next
one.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubescript.guest import tool_errors
from kubescript.guest.kubectl import deployments, rollout
from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import endpoints, pod_troubles
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import messages

__all__ = ["plan_rollouts"]

_TURN_S: Final = 5
"""How many seconds one turn lasts if there are several workloads."""
_SETTLE_S: Final = 5
"""How many seconds endpoints get to follow their pods."""
_STUCK: Final = "tool.rollout_stuck"
_GONE: Final = "it is not there any more"


def plan_rollouts(k8s: client.K8s, targets: Sequence[Mapping[str, str]], timeout: float = 300) -> list[str]:
    """Follows Deployments, StatefulSets and DaemonSets until each is ready or has failed, then the endpoints of
    Services, for at most the given time in seconds.

    Returns a line for each one among the targets, which are dicts of group, version, resource, namespace, name and
    change: what was changed of a workload's pods, which is `template`, `replicas`, `none`, or `other` if unknown.
    """
    followed = [_Followed(k8s, each) for each in targets if each["group"] == "apps" and each["resource"] in _KINDS]
    deadline = min(time.monotonic() + timeout, k8s._session.deadline - rollout.SPARE_S)
    turn = max(_TURN_S, timeout / rollout.MOST_WATCHES)
    # Each workload is read once before the first turn, so that the progress counts the pods of all of them.
    for each in followed:
        if not each.is_over:
            each.follow(0, followed)
    for _ in range(rollout.MOST_WATCHES):
        pending = [each for each in followed if not each.is_over]
        if not pending or time.monotonic() >= deadline:
            break
        alone = len(pending) == 1
        for each in pending:
            left = deadline - time.monotonic()
            each.follow(left if alone else min(left, turn), followed)
    services = [(each["namespace"], each["name"]) for each in targets if _is_service(each)]
    found = _find_endpoints(k8s, followed, services, min(deadline, time.monotonic() + _SETTLE_S))
    lines = []
    for each in followed:
        parts = [each.line(), _describe_selecting(found.get(each.namespace), each.pod_labels)]
        lines.append("; ".join(filter(None, parts)))
    for namespace, name in services:
        lines.append(f"services {namespace}/{name}: {_describe_service(found[namespace], name)}")
    return lines


def _is_service(target: Mapping[str, str]) -> bool:
    return target["group"] == "" and target["resource"] == "services"


def _find_endpoints(
    k8s: client.K8s, followed: Sequence[_Followed], services: Sequence[tuple[str, str]], deadline: float
) -> dict[str, endpoints.Endpoints]:
    """Returns the endpoints of the Services in a plan, and of those that select its workloads' pods, by namespace."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    pods: defaultdict[str, list[Mapping[str, str]]] = defaultdict(list)
    for namespace, name in services:
        names[namespace].add(name)
    for each in followed:
        if each.pod_labels:
            pods[each.namespace].append(each.pod_labels)
    found = {}
    for namespace in {**names, **pods}:
        found[namespace] = endpoints.find(k8s, namespace, names[namespace], pods[namespace], deadline)
    return found


def _describe_selecting(found: endpoints.Endpoints | None, labels: Mapping[str, str]) -> str:
    """Returns the endpoints of the Services that select pods with these labels; an empty string if there are none."""
    if found is None or not labels:
        return ""
    if found.problem:
        return f"its services could not be read: {found.problem}"
    return found.describe([each for each in found.services if each.selects(labels)])


def _describe_service(found: endpoints.Endpoints, name: str) -> str:
    if found.problem:
        return f"could not be read: {found.problem}"
    if not any(each.name == name for each in found.services):
        return "it selects no pods"
    return found.describe_one(name)


class _Followed:
    """A workload, and its progress."""

    def __init__(self, k8s: client.K8s, given: Mapping[str, str]) -> None:
        resource = given["resource"]
        namespace = given["namespace"]
        name = given["name"]
        self._k8s = k8s
        self._change = given.get("change", "other")
        self.namespace = namespace
        self._kind = kind = _KINDS[resource]
        apps = k8s.appsV1()
        self._target = rollout.Target(
            kind=f"{resource}.apps",
            namespace=namespace,
            name=name,
            read=lambda: getattr(apps, f"read_namespaced_{kind}")(name, namespace),
            listing=getattr(apps, f"list_namespaced_{kind}"),
            judge=_JUDGES[kind],
        )
        self._found: Any = None
        self._problem = ""
        # A change that is none to the pods begins no rollout, so there is nothing to wait for.
        self.is_over = self._change == "none"
        """Whether the workload is ready or has failed."""

    @property
    def pod_labels(self) -> Mapping[str, str]:
        """The labels of the workload's new pods; empty if it was not read."""
        template = subject.plain(self._found.spec.template) if self._found is not None else {}
        labels: Mapping[str, str] = cells.at(template, "metadata.labels", {})
        return labels

    @property
    def ready(self) -> int:
        """How many of the workload's pods are ready."""
        status = self._found.status if self._found is not None else None
        if not status:
            return 0
        if self._kind == "daemon_set":
            return _count(status.number_ready)
        return _count(status.ready_replicas)

    @property
    def wanted(self) -> int:
        """How many pods the workload should have."""
        found = self._found
        if found is None:
            return 0
        # A DaemonSet has no number of replicas: the nodes that it selects decide.
        if self._kind == "daemon_set":
            return _count(found.status.desired_number_scheduled)
        return _count(found.spec.replicas)

    def follow(self, seconds: float, everything: Sequence[_Followed]) -> None:
        """Follows the workload for the given number of seconds, and reports the progress of all workloads."""
        try:
            for found in rollout.watch_changes(self._k8s, self._target, seconds):
                self._found = found
                progress = self._target.judge(found)
                done = sum(each.ready for each in everything)
                total = sum(each.wanted for each in everything)
                self._k8s._session.report(done, total or None, f"{self._target}: {progress.text}")
                if progress.finished:
                    self.is_over = True
                    return
        except tool_errors.ToolError as error:
            self._problem = "its progress deadline is over" if error.code == _STUCK else _GONE
        except exceptions.NotFoundException:
            self._problem = _GONE
        except exceptions.ApiException as error:
            self._problem = f"it could not be followed: {cells.line(error.message)}"
        self.is_over = bool(self._problem)

    def line(self) -> str:
        """Returns the workload's outcome."""
        if self._change == "none":
            return f"{self._target}: no rollout, since its pods are as before"
        if self.is_over and not self._problem:
            return f"{self._target}: {self._describe_ready()}"
        if self._found is None or self._problem == _GONE:
            return f"{self._target}: {self._problem}"
        # The API server leaves the kind out of the items of a list.
        workload = {"kind": _NAMES[self._kind], **subject.plain(self._found)}
        parts = [f"{self.ready} of {self.wanted} ready", self._problem]
        parts += pod_troubles.why(self._k8s, workload)
        outcome = "; ".join(filter(None, parts))
        return f"{self._target}: {outcome}"

    def _describe_ready(self) -> str:
        """Returns how many pods are ready, and whether they are new."""
        if self._change != "template":
            return f"ready, {self.ready} of {self.wanted}"
        if self._kind == "deployment" and self._found.spec.paused:
            return f"no rollout while it is paused; {self.ready} of {self.wanted} ready"
        if self._kind != "deployment" and not _replaces(self._found):
            return f"no rollout until its pods are deleted, by OnDelete; {self.ready} of {self.wanted} ready"
        kept = _partition(self._found) if self._kind == "stateful_set" else 0
        if kept:
            return f"ready, {self.ready} of {self.wanted}; up to {kept} keep the old template, by the partition"
        return f"{self.ready} of {self.wanted} new pods ready"


# --- how far a workload is, by the rules of `kubectl rollout status` --------------------------------------------------


def _stateful_set(found: Any) -> rollout.Progress:
    status = found.status
    wanted = _count(found.spec.replicas)
    ready = _count(status.ready_replicas)
    updated = _count(status.updated_replicas)
    # Until the generations match, the status is that of the earlier spec.
    if found.metadata.generation > _count(status.observed_generation):
        return rollout.Progress(messages.text("state_unobserved", kind="statefulset"), total=wanted)
    existing = _count(status.replicas)
    to_update = wanted - _partition(found)
    if existing > wanted:
        text = messages.text("state_ending", count=existing - wanted)
    elif _replaces(found) and updated < to_update:
        text = messages.text("state_updated", updated=updated, wanted=to_update)
    elif ready < wanted:
        text = messages.text("state_available", available=ready, wanted=wanted)
    else:
        text = messages.text("state_ready", ready=ready, wanted=wanted)
        return rollout.Progress(text, ready, wanted, finished=True)
    return rollout.Progress(text, min(ready, wanted), wanted)


def _partition(found: Any) -> int:
    """Returns how many pods of a StatefulSet keep the old template."""
    strategy = found.spec.update_strategy
    if not strategy or not strategy.rolling_update:
        return 0
    return _count(strategy.rolling_update.partition)


def _daemon_set(found: Any) -> rollout.Progress:
    status = found.status
    wanted = _count(status.desired_number_scheduled)
    available = _count(status.number_available)
    updated = _count(status.updated_number_scheduled)
    if found.metadata.generation > _count(status.observed_generation):
        return rollout.Progress(messages.text("state_unobserved", kind="daemonset"), total=wanted)
    if _replaces(found) and updated < wanted:
        text = messages.text("state_updated", updated=updated, wanted=wanted)
    elif available < wanted:
        text = messages.text("state_available", available=available, wanted=wanted)
    else:
        text = messages.text("state_ready", ready=_count(status.number_ready), wanted=wanted)
        return rollout.Progress(text, available, wanted, finished=True)
    return rollout.Progress(text, available, wanted)


def _replaces(found: Any) -> bool:
    """Says whether the controller replaces pods; with OnDelete, it waits until they are deleted."""
    strategy = found.spec.update_strategy
    return strategy is None or strategy.type != "OnDelete"


def _count(number: int | None) -> int:
    return number or 0


_KINDS: Final = {"deployments": "deployment", "statefulsets": "stateful_set", "daemonsets": "daemon_set"}
"""Maps a resource to its name in the methods of AppsV1Api."""
_NAMES: Final = {"deployment": "Deployment", "stateful_set": "StatefulSet", "daemon_set": "DaemonSet"}
_JUDGES: Final = {"deployment": deployments.judge, "stateful_set": _stateful_set, "daemon_set": _daemon_set}
