"""Answers that follow traffic: from an ingress to pods, to their ports, and past the network policies."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    key,
    labels,
    matches,
    name,
    ready,
    space,
)


def _behind(cluster: Cluster, service: Object) -> list[Object]:
    wanted = service["spec"].get("selector")
    here = cluster.within("pods", space(service))
    return [pod for pod in here if wanted.items() <= labels(pod).items()] if wanted else []


def _ports(pods: list[Object]) -> list[Object]:
    return [port for pod in pods for one in containers(pod) for port in one.get("ports", [])]


@answer
def undeclared_ports(cluster: Cluster) -> Any:
    found = {}
    for service in cluster.services:
        if pods := _behind(cluster, service):
            declared = {port[field] for port in _ports(pods) for field in ("name", "containerPort") if field in port}
            wanted = {port.get("targetPort") or port["port"] for port in service["spec"]["ports"]}
            if wanted - declared:
                found[key(service)] = sorted(map(str, wanted - declared))
    return found


def _way(cluster: Cluster, ingress: Object) -> str:
    backend = ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    service = next((one for one in cluster.within("services", space(ingress)) if name(one) == backend["name"]), None)
    if service is None:
        return "no service"
    wanted = backend["port"]
    ports = [one for one in service["spec"]["ports"] if wanted in ({"name": one.get("name")}, {"number": one["port"]})]
    if not ports:
        return "no port"
    pods, target = _behind(cluster, service), ports[0].get("targetPort") or ports[0]["port"]
    if isinstance(target, str):
        (target,) = {port["containerPort"] for port in _ports(pods) if port.get("name") == target}
    return f"{ports[0]['port']}->{target} x{sum(map(ready, pods))}"


@answer
def ingress_backends(cluster: Cluster) -> Any:
    return {key(one): _way(cluster, one) for one in cluster.ingresses}


def _sources(cluster: Cluster, pod: Object) -> list[str]:
    policies = [
        one["spec"]
        for one in cluster.within("netpols", space(pod))
        if "Ingress" in one["spec"]["policyTypes"] and matches(one["spec"].get("podSelector", {}), labels(pod))
    ]
    peers = [peer for one in policies for rule in one.get("ingress", []) for peer in rule["from"]]
    let_in = [one for one in cluster.namespaces if any(matches(p["namespaceSelector"], labels(one)) for p in peers)]
    return sorted(map(name, let_in)) if policies else ["*"]


@answer
def network_sources(cluster: Cluster) -> Any:
    pods = [*cluster.within("pods", "shop"), *cluster.within("pods", "payments")]
    return {f"{space(pod)}/{labels(pod)['app']}": _sources(cluster, pod) for pod in pods}
