"""Answers about what would fit where."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    alive,
    answer,
    condition,
    containers,
    key,
    name,
    quantity,
    ready,
)


def _tolerated(taint: Object, tolerations: list[Object]) -> bool:
    for one in tolerations:
        operator, wanted = one.get("operator") or "Equal", one.get("key") or ""
        right_key = wanted == taint["key"] or (wanted == "" and operator == "Exists")
        right_value = operator == "Exists" or (one.get("value") or "") == (taint.get("value") or "")
        if right_key and right_value and one.get("effect") in (None, "", taint["effect"]):
            return True
    return False


def _open(node: Object, spec: Object) -> bool:
    hard = [one for one in node["spec"].get("taints") or [] if one["effect"] in ("NoSchedule", "NoExecute")]
    welcome = all(_tolerated(one, spec.get("tolerations") or []) for one in hard)
    return ready(node) and not node["spec"].get("unschedulable") and welcome


def _needs(body: Object) -> dict[str, Decimal]:
    found: dict[str, Decimal] = {}
    for one in containers(body):
        for resource, amount in one.get("resources", {}).get("requests", {}).items():
            found[resource] = found.get(resource, Decimal(0)) + quantity(amount)
    return found


def _free(cluster: Cluster, node: Object) -> dict[str, Decimal]:
    free = {resource: quantity(amount) for resource, amount in node["status"]["allocatable"].items()}
    for pod in cluster.pods:
        if pod["spec"].get("nodeName") == name(node) and alive(pod):
            for resource, amount in (_needs(pod) | {"pods": Decimal(1)}).items():
                free[resource] = free.get(resource, Decimal(0)) - amount
    return free


@answer
def storefront_room(cluster: Cluster) -> Any:
    (top,) = (one for one in cluster.within("deployments", "shop") if name(one) == "storefront")
    needs = _needs(top) | {"pods": Decimal(1)}
    found = {}
    for node in cluster.nodes:
        if _open(node, top["spec"]["template"]["spec"]):
            free = _free(cluster, node)
            found[name(node)] = max(0, min(int(free[resource] // amount) for resource, amount in needs.items()))
    return found


@answer
def pending_fits(cluster: Cluster) -> Any:
    free = {name(node): _free(cluster, node) for node in cluster.nodes}

    def fits(pod: Object, node: Object) -> bool:
        there = free[name(node)]
        return _open(node, pod["spec"]) and all(there.get(what, 0) >= much for what, much in _needs(pod).items())

    waiting = [pod for pod in cluster.pods if condition(pod, "PodScheduled").get("status") == "False"]
    return {key(pod): sorted(name(node) for node in cluster.nodes if fits(pod, node)) for pod in waiting}
