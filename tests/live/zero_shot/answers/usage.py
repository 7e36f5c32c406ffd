"""Answers from the metrics API."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, answer, containers, controller, key, quantity, space, total


def deployment_of(cluster: Cluster) -> dict[str, str]:
    """Pod -> the Deployment that it belongs to through a ReplicaSet."""
    sets = {key(one): controller(one) for one in cluster.replicasets}
    found = {}
    for pod in cluster.pods:
        owner = controller(pod)
        if owner.get("kind") == "ReplicaSet":
            above = sets.get(f"{space(pod)}/{owner['name']}", {})
            if above.get("kind") == "Deployment":
                found[key(pod)] = f"{space(pod)}/{above['name']}"
    return found


@answer
def over_memory_request(cluster: Cluster) -> Any:
    requests = {
        (key(pod), one["name"]): one["resources"]["requests"]["memory"]
        for pod in cluster.pods
        for one in containers(pod)
        if "memory" in one.get("resources", {}).get("requests", {})
    }
    return sorted(
        f"{key(usage)}/{one['name']}"
        for usage in cluster.podmetrics
        for one in usage["containers"]
        if (asked := requests.get((key(usage), one["name"]))) and quantity(one["usage"]["memory"]) > quantity(asked)
    )


@answer
def near_memory_limit(cluster: Cluster) -> Any:
    used = {(key(one), c["name"]): c["usage"]["memory"] for one in cluster.podmetrics for c in one["containers"]}
    rows: list[tuple[str, float]] = []
    for pod in cluster.pods:
        for one in containers(pod):
            limit = one.get("resources", {}).get("limits", {}).get("memory")
            use = used.get((key(pod), one["name"]))
            if limit and use and (share := quantity(use) / quantity(limit) * 100) > 90:
                rows.append((f"{key(pod)}/{one['name']}", float(share)))
    return [[row, round(share, 1)] for row, share in sorted(rows, key=lambda row: -row[1])]


@answer
def top_memory_pods(cluster: Cluster) -> Any:
    rows = [
        (key(usage), float(sum(quantity(one["usage"]["memory"]) for one in usage["containers"])) / 2**20)
        for usage in cluster.podmetrics
    ]
    return [[pod, round(used, 1)] for pod, used in sorted(rows, key=lambda row: -row[1])[:5]]


@answer
def without_metrics(cluster: Cluster) -> Any:
    known = {key(usage) for usage in cluster.podmetrics}
    return sorted(key(pod) for pod in cluster.pods if pod["status"]["phase"] == "Running" and key(pod) not in known)


@answer
def shop_cpu_use(cluster: Cluster) -> Any:
    used = {key(one): sum(quantity(c["usage"]["cpu"]) for c in one["containers"]) for one in cluster.podmetrics}
    owners = deployment_of(cluster)
    found: dict[str, list[Any]] = {}
    for pod in cluster.within("pods", "shop"):
        if key(pod) in used and key(pod) in owners:
            row = found.setdefault(owners[key(pod)].partition("/")[2], [0, 0])
            row[0] += used[key(pod)] * 1000
            row[1] += total(pod, "cpu") * 1000
    return {deployment: [round(use), int(asked)] for deployment, (use, asked) in found.items()}


@answer
def wasted_memory(cluster: Cluster) -> Any:
    used = {key(one): sum(quantity(c["usage"]["memory"]) for c in one["containers"]) for one in cluster.podmetrics}
    owners = deployment_of(cluster)
    found: dict[str, Any] = {}
    for pod in cluster.pods:
        if key(pod) in used and (owner := owners.get(key(pod))):
            found[owner] = found.get(owner, 0) + (total(pod, "memory") - used[key(pod)]) / 2**20
    rows = sorted(found.items(), key=lambda row: -row[1])
    return [[deployment, round(waste)] for deployment, waste in rows[:3]]
