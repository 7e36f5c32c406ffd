"""Answers about what pods ask for and are allowed."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    alive,
    answer,
    containers,
    controller,
    counted,
    key,
    labels,
    name,
    space,
    total,
)


@answer
def host_network(cluster: Cluster) -> Any:
    return sorted(key(pod) for pod in cluster.pods if pod["spec"].get("hostNetwork") and space(pod) != "kube-system")


@answer
def privileged(cluster: Cluster) -> Any:
    return counted(
        space(pod)
        for pod in cluster.pods
        if any(one.get("securityContext", {}).get("privileged") for one in containers(pod, init=True))
    )


def _named(container: Object) -> str:
    return str(container["name"])


@answer
def missing_sidecar(cluster: Cluster) -> Any:
    meshed = {name(one) for one in cluster.namespaces if labels(one).get("istio-injection") == "enabled"}
    return sorted(
        key(pod)
        for pod in cluster.pods
        if space(pod) in meshed and alive(pod) and "istio-proxy" not in map(_named, containers(pod))
    )


@answer
def multi_container(cluster: Cluster) -> Any:
    return counted(str(len(containers(pod))) for pod in cluster.pods)


@answer
def host_ports(cluster: Cluster) -> Any:
    found = {}
    for pod in cluster.pods:
        ports = [port["hostPort"] for one in containers(pod) for port in one.get("ports", []) if port.get("hostPort")]
        if ports and not pod["spec"].get("hostNetwork"):
            found[key(pod)] = sorted(ports)
    return found


@answer
def memory_volumes(cluster: Cluster) -> Any:
    return sorted(
        key(pod)
        for pod in cluster.pods
        if any((one.get("emptyDir") or {}).get("medium") == "Memory" for one in pod["spec"].get("volumes", []))
    )


@answer
def qos(cluster: Cluster) -> Any:
    return counted(pod["status"]["qosClass"] for pod in cluster.pods)


@answer
def best_effort_prod(cluster: Cluster) -> Any:
    production = {name(one) for one in cluster.namespaces if labels(one).get("env") == "prod"}
    return sorted(
        key(pod) for pod in cluster.pods if pod["status"]["qosClass"] == "BestEffort" and space(pod) in production
    )


@answer
def token_automount(cluster: Cluster) -> Any:
    accounts = {name(one): one.get("automountServiceAccountToken") for one in cluster.within("accounts", "staging")}
    found = []
    for pod in cluster.within("pods", "staging"):
        account = pod["spec"].get("serviceAccountName", "default")
        own = pod["spec"].get("automountServiceAccountToken")
        if (accounts.get(account) if own is None else own) is not False:
            found.append(account)
    return counted(found)


@answer
def no_memory_limit_by_owner(cluster: Cluster) -> Any:
    sets = {(space(one), name(one)): controller(one) for one in cluster.replicasets}
    found = []
    for pod in cluster.pods:
        owner = controller(pod)
        lacking = any("memory" not in one.get("resources", {}).get("limits", {}) for one in containers(pod))
        if owner and lacking and alive(pod):
            if owner["kind"] == "ReplicaSet" and sets.get((space(pod), owner["name"]), {}).get("kind") == "Deployment":
                owner = sets[space(pod), owner["name"]]
            found.append(f"{space(pod)}/{owner['kind']}/{owner['name']}")
    return counted(found)


@answer
def cpu_requests_by_namespace(cluster: Cluster) -> Any:
    found: dict[str, Any] = {}
    for pod in filter(alive, cluster.pods):
        found[space(pod)] = found.get(space(pod), 0) + total(pod, "cpu")
    return {namespace: round(float(cores), 3) for namespace, cores in found.items() if cores > 0}
