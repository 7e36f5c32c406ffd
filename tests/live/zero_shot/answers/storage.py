"""Answers about claims, volumes and storage classes."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, Object, answer, counted, key, name, quantity, space


def _wanted(claim: Object) -> str:
    return str(claim["spec"]["resources"]["requests"]["storage"])


@answer
def pvc_missing_class(cluster: Cluster) -> Any:
    there = {name(one) for one in cluster.storageclasses}
    pending = [one for one in cluster.claims if one["status"]["phase"] == "Pending"]
    classes = {key(one): one["spec"].get("storageClassName") for one in pending}
    return {claim: wanted for claim, wanted in classes.items() if wanted and wanted not in there}


@answer
def pvc_phases(cluster: Cluster) -> Any:
    return counted(one["status"]["phase"] for one in cluster.claims)


@answer
def pv_leftovers(cluster: Cluster) -> Any:
    return {
        name(one): [one["status"]["phase"], f"{claim['namespace']}/{claim['name']}"]
        for one in cluster.volumes
        if one["status"]["phase"] in ("Released", "Failed") and (claim := one["spec"]["claimRef"])
    }


@answer
def pvc_unused(cluster: Cluster) -> Any:
    mounted = {
        f"{space(pod)}/{volume['persistentVolumeClaim']['claimName']}"
        for pod in cluster.pods
        for volume in pod["spec"].get("volumes", [])
        if "persistentVolumeClaim" in volume
    }
    return sorted(set(map(key, cluster.claims)) - mounted)


@answer
def storage_by_class(cluster: Cluster) -> Any:
    found: dict[str, float] = {}
    for one in cluster.claims:
        kind = one["spec"]["storageClassName"]
        found[kind] = found.get(kind, 0) + float(quantity(_wanted(one))) / 2**30
    return {kind: round(size, 1) for kind, size in found.items()}


@answer
def default_storage_class(cluster: Cluster) -> Any:
    mark = "storageclass.kubernetes.io/is-default-class"
    (found,) = (one for one in cluster.storageclasses if one["metadata"].get("annotations", {}).get(mark) == "true")
    return name(found)


@answer
def pvc_resize(cluster: Cluster) -> Any:
    bound = [one for one in cluster.claims if one["status"]["phase"] == "Bound"]
    pairs = {key(one): [one["status"]["capacity"]["storage"], _wanted(one)] for one in bound}
    return {claim: pair for claim, pair in pairs.items() if quantity(pair[0]) < quantity(pair[1])}
