"""Answers about pods."""

from __future__ import annotations

import statistics
from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    alive,
    answer,
    condition,
    counted,
    days_since,
    key,
    labels,
    name,
    ready,
    space,
    whole,
)


@answer
def not_ready_shop(cluster: Cluster) -> Any:
    return sum(not ready(pod) and pod["status"]["phase"] != "Succeeded" for pod in cluster.within("pods", "shop"))


@answer
def pods_by_phase(cluster: Cluster) -> Any:
    return counted(pod["status"]["phase"] for pod in cluster.pods)


@answer
def unschedulable(cluster: Cluster) -> Any:
    scheduled = {key(pod): condition(pod, "PodScheduled") for pod in cluster.pods}
    return {pod: why["message"] for pod, why in scheduled.items() if why.get("status") == "False"}


@answer
def evicted(cluster: Cluster) -> Any:
    return counted(space(pod) for pod in cluster.pods if pod["status"].get("reason") == "Evicted")


@answer
def terminating_finalizers(cluster: Cluster) -> Any:
    metas = {key(pod): pod["metadata"] for pod in cluster.pods}
    return {pod: sorted(meta.get("finalizers", [])) for pod, meta in metas.items() if "deletionTimestamp" in meta}


@answer
def pods_on_broken_nodes(cluster: Cluster) -> Any:
    return {
        name(node): sum(alive(pod) and pod["spec"].get("nodeName") == name(node) for pod in cluster.pods)
        for node in cluster.nodes
        if not ready(node)
    }


@answer
def pods_per_node(cluster: Cluster) -> Any:
    return counted(pod["spec"].get("nodeName", "unassigned") for pod in cluster.pods)


@answer
def ownerless_pods(cluster: Cluster) -> Any:
    return sorted(key(pod) for pod in cluster.pods if not pod["metadata"].get("ownerReferences"))


@answer
def pod_age_shop(cluster: Cluster) -> Any:
    ages = [days_since(pod["metadata"]["creationTimestamp"]) for pod in cluster.within("pods", "shop")]
    return {"oldest": whole(max(ages)), "newest": whole(min(ages)), "median": whole(statistics.median(ages))}


@answer
def created_last_day(cluster: Cluster) -> Any:
    return counted(space(pod) for pod in cluster.pods if days_since(pod["metadata"]["creationTimestamp"]) < 1)


@answer
def failed_reasons(cluster: Cluster) -> Any:
    return counted(pod["status"].get("reason") or "none" for pod in cluster.pods if pod["status"]["phase"] == "Failed")


@answer
def selector_count(cluster: Cluster) -> Any:
    tagged = [labels(pod) for pod in cluster.pods]
    return sum(one.get("tier") in ("frontend", "backend") and "canary" not in one for one in tagged)


@answer
def field_selector(cluster: Cluster) -> Any:
    return sorted(
        key(pod)
        for pod in cluster.pods
        if pod["spec"].get("nodeName") == "worker-a1" and pod["status"]["phase"] == "Running"
    )
