"""Answers about quotas, autoscalers and disruption budgets."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    alive,
    answer,
    condition,
    key,
    labels,
    name,
    quantity,
    space,
    total,
)


def _ours(namespace: Object) -> bool:
    return name(namespace) != "default" and not name(namespace).startswith("kube-")


@answer
def quota_90(cluster: Cluster) -> Any:
    rows = []
    for one in cluster.quotas:
        hard, used = one["status"]["hard"], one["status"]["used"]
        for resource, limit in hard.items():
            share = quantity(used.get(resource, "0")) / quantity(limit) * 100
            if share > 90:
                rows.append([key(one), resource, round(float(share), 1)])
    return sorted(rows)


@answer
def no_quota(cluster: Cluster) -> Any:
    limited = {space(one) for one in cluster.quotas}
    return sorted(name(one) for one in cluster.namespaces if _ours(one) and name(one) not in limited)


@answer
def limit_range_memory(cluster: Cluster) -> Any:
    return {
        space(one): item["default"]["memory"]
        for one in cluster.ranges
        for item in one["spec"]["limits"]
        if item["type"] == "Container" and "memory" in item.get("default", {})
    }


@answer
def hpa_at_max(cluster: Cluster) -> Any:
    return sorted(
        key(one) for one in cluster.hpas if one["status"].get("currentReplicas") == one["spec"]["maxReplicas"]
    )


@answer
def hpa_over_target(cluster: Cluster) -> Any:
    def cpu(metrics: list[Object], inner: str) -> Any:
        found = (one["resource"][inner] for one in metrics if one.get("resource", {}).get("name") == "cpu")
        return dict(next(found, {})).get("averageUtilization")

    pairs = {
        key(one): [cpu(one["status"].get("currentMetrics") or [], "current"), cpu(one["spec"]["metrics"], "target")]
        for one in cluster.hpas
    }
    return {hpa: pair for hpa, pair in pairs.items() if None not in pair and pair[0] > pair[1]}


@answer
def hpa_inactive(cluster: Cluster) -> Any:
    found = {key(one): condition(one, "ScalingActive") for one in cluster.hpas}
    return {hpa: why["reason"] for hpa, why in found.items() if why.get("status") == "False"}


@answer
def hpa_missing_target(cluster: Cluster) -> Any:
    there = {("Deployment", key(one)) for one in cluster.deployments}
    there |= {("StatefulSet", key(one)) for one in cluster.statefulsets}
    targets = {key(one): (one, one["spec"]["scaleTargetRef"]) for one in cluster.hpas}
    return {
        hpa: f"{target['kind']}/{target['name']}"
        for hpa, (one, target) in targets.items()
        if (target["kind"], f"{space(one)}/{target['name']}") not in there
    }


@answer
def no_hpa_shop(cluster: Cluster) -> Any:
    scaled = {
        one["spec"]["scaleTargetRef"]["name"]
        for one in cluster.within("hpas", "shop")
        if one["spec"]["scaleTargetRef"]["kind"] == "Deployment"
    }
    return sorted({name(one) for one in cluster.within("deployments", "shop")} - scaled)


@answer
def pdb_blocking(cluster: Cluster) -> Any:
    return sorted(
        key(one)
        for one in cluster.pdbs
        if one["status"]["disruptionsAllowed"] == 0 and one["status"]["expectedPods"] > 0
    )


def _covers(budget: Object, tags: dict[str, str]) -> bool:
    return bool(budget["spec"]["selector"]["matchLabels"].items() <= tags.items())


@answer
def pdb_empty(cluster: Cluster) -> Any:
    return sorted(
        key(one)
        for one in cluster.pdbs
        if not any(_covers(one, labels(pod)) for pod in cluster.within("pods", space(one)))
    )


@answer
def no_pdb_payments(cluster: Cluster) -> Any:
    budgets = cluster.within("pdbs", "payments")
    return sorted(
        name(one)
        for one in cluster.within("deployments", "payments")
        if one["spec"]["replicas"] >= 2
        and not any(_covers(budget, one["spec"]["template"]["metadata"]["labels"]) for budget in budgets)
    )


@answer
def requests_by_team(cluster: Cluster) -> Any:
    teams = {name(one): labels(one).get("team", "unowned") for one in cluster.namespaces}
    found: dict[str, Any] = {}
    for pod in filter(alive, cluster.pods):
        team = teams[space(pod)]
        found[team] = found.get(team, 0) + total(pod, "cpu")
    return {team: round(float(cores), 2) for team, cores in found.items() if cores > 0}


@answer
def stuck_namespaces(cluster: Cluster) -> Any:
    return {
        name(one): sorted(c["type"] for c in one["status"].get("conditions", []) if c["status"] == "True")
        for one in cluster.namespaces
        if one["status"]["phase"] == "Terminating"
    }


@answer
def namespaces_no_team(cluster: Cluster) -> Any:
    return sorted(name(one) for one in cluster.namespaces if _ours(one) and "team" not in labels(one))


@answer
def pod_security(cluster: Cluster) -> Any:
    return {
        name(one): labels(one).get("pod-security.kubernetes.io/enforce", "none")
        for one in cluster.namespaces
        if not name(one).startswith("kube-")
    }
