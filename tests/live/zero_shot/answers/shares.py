"""Answers in figures and tables: percentiles, shares, suggestions, and counts of custom resources."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    controller,
    key,
    name,
    quantity,
    space,
)


@answer
def memory_percentiles(cluster: Cluster) -> Any:
    limits = {
        (key(pod), one["name"]): quantity(limit)
        for pod in cluster.pods
        for one in containers(pod)
        if (limit := one.get("resources", {}).get("limits", {}).get("memory"))
    }
    used = {(key(pod), one["name"]): one["usage"] for pod in cluster.podmetrics for one in pod["containers"]}
    both = limits.keys() & used.keys()
    shares = sorted(quantity(used[one]["memory"]) / limits[one] * 100 for one in both)
    ranks = {f"p{percent}": math.ceil(Fraction(percent * len(shares), 100)) for percent in (50, 90, 99)}
    return {which: round(float(shares[rank - 1]), 1) for which, rank in ranks.items()}


@answer
def crd_table(cluster: Cluster) -> Any:
    lines = []
    for crd in sorted(cluster.crds, key=name):
        spec = crd["spec"]
        (stored,) = (one["name"] for one in spec["versions"] if one["storage"])
        served = ",".join(sorted(one["name"] for one in spec["versions"] if one["served"]))
        there = cluster.get(f"/apis/{spec['group']}/{stored}/{spec['names']['plural']}")["items"]
        lines.append(f"{name(crd)} | {stored} | {served} | {len(there)}")
    return "\n".join(lines)


def _short(one: Object) -> bool:
    return bool(one.get("status", {}).get("availableReplicas", 0) < one["spec"]["replicas"])


@answer
def healthy_apps_degraded(cluster: Cluster) -> Any:
    found = {}
    for app in cluster.applications:
        there = cluster.within("deployments", app["spec"]["destination"]["namespace"])
        short = sorted(name(one) for one in there if _short(one))
        if app["status"]["health"]["status"] == "Healthy" and short:
            found[name(app)] = short
    return found


@answer
def cert_lifetime_used(cluster: Cluster) -> Any:
    rows = []
    for one in cluster.certificates:
        if "notAfter" in one["status"] and "notBefore" in one["status"]:
            start, end = (datetime.fromisoformat(one["status"][field]) for field in ("notBefore", "notAfter"))
            rows.append(((datetime.now(UTC) - start) / (end - start), key(one)))
    return [[which, round(share * 100, 1)] for share, which in sorted(rows, reverse=True) if share > 2 / 3]


@answer
def right_size_payments(cluster: Cluster) -> Any:
    used = {key(pod): sum(quantity(one["usage"]["cpu"]) for one in pod["containers"]) for pod in cluster.podmetrics}
    tops = {one["metadata"]["uid"]: name(one) for one in cluster.within("deployments", "payments")}
    sets = {one["metadata"]["uid"]: tops.get(controller(one).get("uid", "")) for one in cluster.replicasets}
    most: dict[str, Any] = {}
    for pod in cluster.pods:
        top = sets.get(controller(pod).get("uid", ""))
        if top and space(pod) == "payments" and key(pod) in used:
            most[top] = max(most.get(top, 0), used[key(pod)])
    return {top: math.ceil(Fraction(usage) * 120) * 10 for top, usage in most.items()}
