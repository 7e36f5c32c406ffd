"""Answers about the rollouts of Deployments, StatefulSets and DaemonSets."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    answer,
    condition,
    containers,
    controller,
    counted,
    key,
    labels,
    name,
    quantity,
    space,
)

REVISION = "deployment.kubernetes.io/revision"


@answer
def paused(cluster: Cluster) -> Any:
    return sorted(key(one) for one in cluster.deployments if one["spec"].get("paused"))


@answer
def generation_lag(cluster: Cluster) -> Any:
    lags = {
        key(one): one["metadata"]["generation"] - one["status"]["observedGeneration"] for one in cluster.deployments
    }
    return {deployment: lag for deployment, lag in lags.items() if lag > 0}


@answer
def recreate(cluster: Cluster) -> Any:
    return sorted(key(one) for one in cluster.deployments if one["spec"]["strategy"]["type"] == "Recreate")


@answer
def max_unavailable(cluster: Cluster) -> Any:
    found = {}
    for one in cluster.within("deployments", "shop"):
        value = one["spec"]["strategy"].get("rollingUpdate", {}).get("maxUnavailable")
        if value is not None:
            percent = str(value).endswith("%")
            found[name(one)] = one["spec"]["replicas"] * int(value[:-1]) // 100 if percent else value
    return found


@answer
def mixed_replicasets(cluster: Cluster) -> Any:
    owners = [
        f"{space(one)}/{controller(one)['name']}"
        for one in cluster.replicasets
        if one["spec"]["replicas"] > 0 and controller(one).get("kind") == "Deployment"
    ]
    there = {key(one) for one in cluster.deployments}
    return {owner: count for owner, count in counted(owners).items() if count > 1 and owner in there}


@answer
def orphaned_replicasets(cluster: Cluster) -> Any:
    uids = {one["metadata"]["uid"] for one in cluster.deployments}
    return sorted(key(one) for one in cluster.replicasets if controller(one).get("uid") not in uids)


@answer
def old_replicasets(cluster: Cluster) -> Any:
    return counted(space(one) for one in cluster.replicasets if one["spec"]["replicas"] == 0)


@answer
def checkout_history(cluster: Cluster) -> Any:
    return {
        one["metadata"]["annotations"][REVISION]: containers(one)[0]["image"]
        for one in cluster.within("replicasets", "shop")
        if controller(one).get("name") == "checkout"
    }


@answer
def stuck_rollouts(cluster: Cluster) -> Any:
    found = {key(one): condition(one, "Progressing") for one in cluster.deployments}
    return {
        deployment: why["message"]
        for deployment, why in found.items()
        if (why["status"], why["reason"]) == ("False", "ProgressDeadlineExceeded")
    }


@answer
def degraded_deployments(cluster: Cluster) -> Any:
    pairs = {
        key(one): (one["status"].get("availableReplicas", 0), one["spec"]["replicas"]) for one in cluster.deployments
    }
    return {deployment: f"{there}/{wanted}" for deployment, (there, wanted) in pairs.items() if there < wanted}


@answer
def single_replica_prod(cluster: Cluster) -> Any:
    production = {name(one) for one in cluster.namespaces if labels(one).get("env") == "prod"}
    return sorted(key(one) for one in cluster.deployments if one["spec"]["replicas"] == 1 and space(one) in production)


@answer
def statefulset_updates(cluster: Cluster) -> Any:
    return {
        key(one): f"{one['status'].get('updatedReplicas', 0)}/{one['spec']['replicas']}"
        for one in cluster.statefulsets
        if one["status"]["currentRevision"] != one["status"]["updateRevision"]
    }


@answer
def statefulset_service(cluster: Cluster) -> Any:
    services = {key(one) for one in cluster.services}
    return {
        key(one): one["spec"]["serviceName"]
        for one in cluster.statefulsets
        if f"{space(one)}/{one['spec']['serviceName']}" not in services
    }


@answer
def claim_templates(cluster: Cluster) -> Any:
    found = {}
    for one in cluster.statefulsets:
        sizes = [t["spec"]["resources"]["requests"]["storage"] for t in one["spec"].get("volumeClaimTemplates", [])]
        if sizes:
            found[key(one)] = int(sum(map(quantity, sizes)) / 2**30)
    return found


@answer
def daemonset_gaps(cluster: Cluster) -> Any:
    gaps = {
        key(one): one["status"]["desiredNumberScheduled"] - one["status"]["numberReady"] for one in cluster.daemonsets
    }
    return {daemonset: gap for daemonset, gap in gaps.items() if gap > 0}


@answer
def kube_system_report(cluster: Cluster) -> Any:
    sets = sorted(cluster.within("daemonsets", "kube-system"), key=name)
    return "\n".join(
        f"{name(one)}: {one['status']['numberReady']}/{one['status']['desiredNumberScheduled']}" for one in sets
    )


@answer
def scaled_to_zero(cluster: Cluster) -> Any:
    both = [("Deployment", cluster.deployments), ("StatefulSet", cluster.statefulsets)]
    return sorted(
        f"{space(one)}/{kind}/{name(one)}" for kind, items in both for one in items if one["spec"]["replicas"] == 0
    )
