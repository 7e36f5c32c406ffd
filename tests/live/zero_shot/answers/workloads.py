"""Answers about what Deployments and DaemonSets make their pods like."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    key,
    labels,
    name,
    ready,
    space,
)
from tests.live.zero_shot.answers.usage import deployment_of

LABELS = ("app.kubernetes.io/name", "app.kubernetes.io/version", "team")


@answer
def run_as_non_root(cluster: Cluster) -> Any:
    found = []
    for one in cluster.within("deployments", "payments"):
        outer = one["spec"]["template"]["spec"].get("securityContext", {}).get("runAsNonRoot")
        for container in containers(one):
            own = container.get("securityContext", {}).get("runAsNonRoot")
            if (outer if own is None else own) is not True:
                found.append(f"{name(one)}/{container['name']}")
    return sorted(found)


@answer
def capabilities(cluster: Cluster) -> Any:
    found = {}
    for one in [*cluster.deployments, *cluster.daemonsets]:
        for container in containers(one):
            added = container.get("securityContext", {}).get("capabilities", {}).get("add")
            if added:
                found[f"{key(one)}/{container['name']}"] = sorted(added)
    return found


@answer
def host_paths(cluster: Cluster) -> Any:
    found = {}
    for one in cluster.daemonsets:
        volumes = one["spec"]["template"]["spec"].get("volumes", [])
        if paths := sorted(volume["hostPath"]["path"] for volume in volumes if "hostPath" in volume):
            found[key(one)] = paths
    return found


@answer
def no_readiness_probe(cluster: Cluster) -> Any:
    return sorted(key(one) for one in cluster.deployments if any("readinessProbe" not in c for c in containers(one)))


@answer
def same_probes(cluster: Cluster) -> Any:
    def target(container: Object, probe: str) -> Any:
        get = container.get(probe, {}).get("httpGet")
        return get and (get.get("path"), get["port"])

    return sorted(
        f"{name(one)}/{container['name']}"
        for one in cluster.within("deployments", "shop")
        for container in containers(one)
        if target(container, "livenessProbe")
        and target(container, "livenessProbe") == target(container, "readinessProbe")
    )


@answer
def debug_logging(cluster: Cluster) -> Any:
    wanted = ("LOG_LEVEL", "debug")
    return sorted(
        key(one)
        for one in cluster.deployments
        if any((env["name"], env.get("value")) == wanted for c in containers(one) for env in c.get("env", []))
    )


@answer
def long_grace(cluster: Cluster) -> Any:
    found = {}
    for kind, items in (("Deployment", cluster.deployments), ("StatefulSet", cluster.statefulsets)):
        for one in items:
            seconds = one["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
            if seconds > 120:
                found[f"{space(one)}/{kind}/{name(one)}"] = seconds
    return found


@answer
def one_node_deployments(cluster: Cluster) -> Any:
    owners = deployment_of(cluster)
    nodes: dict[str, list[str]] = {}
    for pod in cluster.pods:
        if pod["status"]["phase"] == "Running" and key(pod) in owners:
            nodes.setdefault(owners[key(pod)], []).append(pod["spec"]["nodeName"])
    return {one: where[0] for one, where in nodes.items() if len(where) >= 3 and len(set(where)) == 1}


@answer
def anti_affinity(cluster: Cluster) -> Any:
    found = {}
    for one in cluster.deployments:
        affinity = one["spec"]["template"]["spec"].get("affinity", {}).get("podAntiAffinity", {})
        terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])
        if terms:
            found[key(one)] = sorted(term["topologyKey"] for term in terms)
    return found


@answer
def missing_labels(cluster: Cluster) -> Any:
    found = {key(one): sorted(set(LABELS) - set(labels(one))) for one in cluster.deployments}
    return {deployment: missing for deployment, missing in found.items() if missing}


@answer
def triage_recommendations(cluster: Cluster) -> Any:
    (one,) = (d for d in cluster.within("deployments", "shop") if name(d) == "recommendations")
    pods = [pod for pod in cluster.within("pods", "shop") if labels(pod).get("app") == "recommendations"]
    statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
    reasons = {status["state"]["waiting"]["reason"] for status in statuses if "waiting" in status["state"]}
    about = {name(pod) for pod in pods}
    warnings = [
        event.get("count", 1)
        for event in cluster.within("events", "shop")
        if event["type"] == "Warning"
        and event["involvedObject"]["kind"] == "Pod"
        and event["involvedObject"]["name"] in about
    ]
    return {
        "desired": one["spec"]["replicas"],
        "ready": one["status"].get("readyReplicas", 0),
        "reasons": sorted(reasons),
        "warnings": sum(warnings),
    }


@answer
def payments_summary(cluster: Cluster) -> Any:
    pods, deployments = cluster.within("pods", "payments"), cluster.within("deployments", "payments")
    return {
        "pods": len(pods),
        "ready_pods": sum(map(ready, pods)),
        "deployments": len(deployments),
        "available_deployments": sum(
            one["status"].get("availableReplicas", 0) >= one["spec"]["replicas"] for one in deployments
        ),
        "services": len(cluster.within("services", "payments")),
        "unbound_claims": sum(one["status"]["phase"] != "Bound" for one in cluster.within("claims", "payments")),
    }
