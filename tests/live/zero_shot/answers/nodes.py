"""Answers about nodes, and about what their pods ask of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    alive,
    answer,
    condition,
    counted,
    hours_since,
    key,
    labels,
    name,
    quantity,
    ready,
    total,
    whole,
)

GPU = "nvidia.com/gpu"


def _on(cluster: Cluster, node: Object) -> list[Object]:
    return [pod for pod in cluster.pods if pod["spec"].get("nodeName") == name(node) and alive(pod)]


def _sum(cluster: Cluster, node: Object, resource: str, part: str = "requests") -> Decimal:
    return sum((total(pod, resource, part) for pod in _on(cluster, node)), Decimal(0))


def _share(cluster: Cluster, node: Object, resource: str, part: str = "requests") -> float:
    return float(_sum(cluster, node, resource, part) / quantity(node["status"]["allocatable"][resource]) * 100)


@answer
def nodes_cpu_80(cluster: Cluster) -> Any:
    shares = {name(node): _share(cluster, node, "cpu") for node in cluster.nodes}
    return {node: round(share, 1) for node, share in shares.items() if share > 80}


@answer
def node_memory_top(cluster: Cluster) -> Any:
    share, node = max((_share(cluster, node, "memory"), name(node)) for node in cluster.nodes)
    return [node, round(share, 1)]


@answer
def free_pod_slots(cluster: Cluster) -> Any:
    return {name(node): int(node["status"]["allocatable"]["pods"]) - len(_on(cluster, node)) for node in cluster.nodes}


@answer
def memory_overcommit(cluster: Cluster) -> Any:
    return sorted(name(node) for node in cluster.nodes if _share(cluster, node, "memory", "limits") > 100)


@answer
def node_conditions(cluster: Cluster) -> Any:
    found = {}
    for node in cluster.nodes:
        bad = [
            one["type"]
            for one in node["status"]["conditions"]
            if one["status"] != ("True" if one["type"] == "Ready" else "False")
        ]
        if bad:
            found[name(node)] = sorted(bad)
    return found


@answer
def not_ready_since(cluster: Cluster) -> Any:
    return {
        name(node): whole(hours_since(condition(node, "Ready")["lastTransitionTime"]))
        for node in cluster.nodes
        if not ready(node)
    }


@answer
def kubelet_versions(cluster: Cluster) -> Any:
    return counted(node["status"]["nodeInfo"]["kubeletVersion"] for node in cluster.nodes)


@answer
def taints(cluster: Cluster) -> Any:
    def text(taint: Object) -> str:
        value = f"={taint['value']}" if taint.get("value") else ""
        return f"{taint['key']}{value}:{taint['effect']}"

    found = {name(node): sorted(map(text, node["spec"].get("taints", []))) for node in cluster.nodes}
    return {node: taints for node, taints in found.items() if taints}


@answer
def cordoned(cluster: Cluster) -> Any:
    return {
        name(node): sum(
            pod["spec"].get("nodeName") == name(node) and pod["status"]["phase"] == "Running" for pod in cluster.pods
        )
        for node in cluster.nodes
        if node["spec"].get("unschedulable")
    }


@answer
def zone_cores(cluster: Cluster) -> Any:
    found: dict[str, float] = {}
    for node in cluster.nodes:
        zone = labels(node)["topology.kubernetes.io/zone"]
        found[zone] = found.get(zone, 0) + float(quantity(node["status"]["allocatable"]["cpu"]))
    return {zone: round(cores, 2) for zone, cores in found.items()}


@answer
def gpu(cluster: Cluster) -> Any:
    assigned = [pod for pod in cluster.pods if alive(pod) and pod["spec"].get("nodeName")]
    return {
        "allocatable": sum(int(node["status"]["allocatable"].get(GPU, 0)) for node in cluster.nodes),
        "requested": int(sum(total(pod, GPU) for pod in assigned)),
    }


@answer
def gpu_squatters(cluster: Cluster) -> Any:
    rich = {name(node) for node in cluster.nodes if int(node["status"]["allocatable"].get(GPU, 0))}
    return sorted(
        key(pod)
        for pod in cluster.pods
        if pod["spec"].get("nodeName") in rich
        and total(pod, GPU) == 0
        and "DaemonSet" not in [one["kind"] for one in pod["metadata"].get("ownerReferences", [])]
    )


def _tolerates(toleration: Object, taint: Object) -> bool:
    exists = toleration.get("operator", "Equal") == "Exists"
    same_key = toleration.get("key", "") == taint["key"] or (not toleration.get("key") and exists)
    same_effect = toleration.get("effect", "") in ("", taint["effect"])
    return same_key and same_effect and (exists or toleration.get("value", "") == taint.get("value", ""))


@answer
def untolerated_taints(cluster: Cluster) -> Any:
    def closed(node: Object, pod: Object) -> bool:
        hard = [one for one in node["spec"].get("taints", []) if one["effect"] in ("NoSchedule", "NoExecute")]
        return any(not any(_tolerates(one, taint) for one in pod["spec"].get("tolerations", [])) for taint in hard)

    return {
        key(pod): sorted(name(node) for node in cluster.nodes if closed(node, pod))
        for pod in cluster.pods
        if condition(pod, "PodScheduled").get("status") == "False"
    }


@answer
def node_cpu_usage(cluster: Cluster) -> Any:
    size = {name(node): quantity(node["status"]["allocatable"]["cpu"]) for node in cluster.nodes}
    rows = [(float(quantity(one["usage"]["cpu"]) / size[name(one)] * 100), name(one)) for one in cluster.nodemetrics]
    return [[node, round(share, 1)] for share, node in sorted(rows, reverse=True)[:3]]


@answer
def cluster_cpu_usage(cluster: Cluster) -> Any:
    return round(float(sum(quantity(one["usage"]["cpu"]) for one in cluster.nodemetrics)), 2)


@answer
def node_ips(cluster: Cluster) -> Any:
    return {
        name(node): next(one["address"] for one in node["status"]["addresses"] if one["type"] == "InternalIP")
        for node in cluster.nodes
    }


@answer
def ephemeral_storage(cluster: Cluster) -> Any:
    sums = {name(node): _sum(cluster, node, "ephemeral-storage") for node in cluster.nodes}
    return {node: round(float(amount / 2**30), 2) for node, amount in sums.items() if amount > 0}


@answer
def storefront_zones(cluster: Cluster) -> Any:
    zone = {name(node): labels(node)["topology.kubernetes.io/zone"] for node in cluster.nodes}
    found = dict.fromkeys(zone.values(), 0)
    for pod in cluster.within("pods", "shop"):
        if labels(pod).get("app") == "storefront" and pod["status"]["phase"] == "Running":
            found[zone[pod["spec"]["nodeName"]]] += 1
    return {"zones": found, "skew": max(found.values()) - min(found.values())}


@answer
def drain_blockers(cluster: Cluster) -> Any:
    found: dict[str, set[str]] = {}
    for budget in cluster.pdbs:
        if budget["status"]["disruptionsAllowed"] == 0:
            wanted = budget["spec"]["selector"]["matchLabels"].items()
            for pod in cluster.within("pods", budget["metadata"]["namespace"]):
                if wanted <= labels(pod).items() and alive(pod) and "nodeName" in pod["spec"]:
                    found.setdefault(pod["spec"]["nodeName"], set()).add(key(pod))
    return {node: sorted(pods) for node, pods in found.items()}


@answer
def stale_node_leases(cluster: Cluster) -> Any:
    leases = cluster.within("leases", "kube-node-lease")
    return sorted(name(one) for one in leases if hours_since(one["spec"]["renewTime"]) > 1)


@answer
def node_exporter_nodes(cluster: Cluster) -> Any:
    there = {
        pod["spec"].get("nodeName")
        for pod in cluster.within("pods", "monitoring")
        for owner in pod["metadata"].get("ownerReferences", [])
        if (owner["kind"], owner["name"]) == ("DaemonSet", "node-exporter")
    }
    return sorted({name(node) for node in cluster.nodes} - there)
