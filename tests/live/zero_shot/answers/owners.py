"""Answers about what belongs to what, and what differs between one and the next."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    controller,
    counted,
    key,
    name,
    space,
)

KINDS = {
    "ReplicaSet": "replicasets", "Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets",
    "Job": "jobs", "CronJob": "cronjobs", "Node": "nodes",
}  # fmt: skip
REVISION = "deployment.kubernetes.io/revision"


def _chain(body: Object, there: dict[tuple[str, str], Object]) -> str:
    if not (owner := controller(body)):
        return ""
    above = there.get((owner["kind"], owner["uid"]))
    return f" > {owner['kind']}" + (_chain(above, there) if above else "?")


@answer
def owner_chains(cluster: Cluster) -> Any:
    there = {(kind, one["metadata"]["uid"]): one for kind, plural in KINDS.items() for one in getattr(cluster, plural)}
    return counted("Pod" + _chain(pod, there) for pod in cluster.pods)


def _tag(body: Object) -> str:
    return str(containers(body)[0]["image"].rpartition(":")[2])


@answer
def same_name_deployments(cluster: Cluster) -> Any:
    found: dict[str, dict[str, list[Any]]] = {}
    for one in cluster.deployments:
        row = [one["spec"]["replicas"], _tag(one), one.get("status", {}).get("readyReplicas", 0)]
        found.setdefault(name(one), {})[space(one)] = row
    return {which: rows for which, rows in found.items() if len(rows) > 1}


@answer
def revision_tags(cluster: Cluster) -> Any:
    found = {}
    for one in cluster.deployments:
        mine = [each for each in cluster.replicasets if controller(each).get("uid") == one["metadata"]["uid"]]
        mine.sort(key=lambda each: int(each["metadata"]["annotations"][REVISION]))
        if len(mine) > 1:
            found[key(one)] = f"{_tag(mine[-2])} -> {_tag(mine[-1])}"
    return found
