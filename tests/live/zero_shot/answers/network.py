"""Answers about Services, Ingresses, NetworkPolicies and webhooks."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    counted,
    key,
    labels,
    matches,
    name,
    ready,
    space,
)


def _selected(cluster: Cluster, service: Object) -> list[Object]:
    wanted = service["spec"]["selector"].items()
    return [pod for pod in cluster.within("pods", space(service)) if wanted <= labels(pod).items()]


def _selecting(cluster: Cluster) -> list[Object]:
    return [one for one in cluster.services if one["spec"].get("selector")]


def _ready_addresses(cluster: Cluster) -> dict[str, int]:
    """Service -> ready addresses in its slices."""
    found: dict[str, int] = {}
    for one in cluster.slices:
        service = f"{space(one)}/{labels(one).get('kubernetes.io/service-name')}"
        for endpoint in one.get("endpoints") or []:
            if endpoint.get("conditions", {}).get("ready"):
                found[service] = found.get(service, 0) + len(endpoint["addresses"])
    return found


@answer
def services_no_ready_pod(cluster: Cluster) -> Any:
    return sorted(key(one) for one in _selecting(cluster) if not any(map(ready, _selected(cluster, one))))


@answer
def services_no_endpoints(cluster: Cluster) -> Any:
    counts = _ready_addresses(cluster)
    return sorted(key(one) for one in _selecting(cluster) if not counts.get(key(one)))


@answer
def loadbalancer_pending(cluster: Cluster) -> Any:
    balancers = [one for one in cluster.services if one["spec"].get("type") == "LoadBalancer"]
    return sorted(key(one) for one in balancers if not one["status"].get("loadBalancer", {}).get("ingress"))


@answer
def node_ports(cluster: Cluster) -> Any:
    return {
        key(one): sorted(port["nodePort"] for port in one["spec"]["ports"])
        for one in cluster.services
        if one["spec"]["type"] == "NodePort"
    }


@answer
def target_ports(cluster: Cluster) -> Any:
    found = []
    for one in _selecting(cluster):
        pods = _selected(cluster, one)
        names = {port.get("name") for pod in pods for c in containers(pod) for port in c.get("ports", [])}
        for port in one["spec"].get("ports", []):
            target = port.get("targetPort")
            if pods and isinstance(target, str) and target not in names:
                found.append(f"{key(one)}:{target}")
    return sorted(found)


@answer
def services_by_type(cluster: Cluster) -> Any:
    return counted(one["spec"]["type"] for one in cluster.services)


@answer
def external_names(cluster: Cluster) -> Any:
    return {key(one): one["spec"]["externalName"] for one in cluster.services if one["spec"]["type"] == "ExternalName"}


@answer
def headless(cluster: Cluster) -> Any:
    return counted(space(one) for one in cluster.services if one["spec"].get("clusterIP") == "None")


@answer
def shop_endpoints(cluster: Cluster) -> Any:
    counts = _ready_addresses(cluster)
    return {name(one): counts.get(key(one), 0) for one in cluster.within("services", "shop")}


def _backends(ingress: Object) -> list[Object]:
    rules = ingress["spec"].get("rules", [])
    return [path["backend"]["service"] for rule in rules for path in rule.get("http", {}).get("paths", [])]


@answer
def ingress_missing_service(cluster: Cluster) -> Any:
    there = {key(one) for one in cluster.services}
    return sorted(
        {
            f"{key(one)} -> {backend['name']}"
            for one in cluster.ingresses
            for backend in _backends(one)
            if f"{space(one)}/{backend['name']}" not in there
        }
    )


@answer
def ingress_missing_port(cluster: Cluster) -> Any:
    ports = {
        key(one): [value for port in one["spec"].get("ports", []) for value in (port["port"], port.get("name"))]
        for one in cluster.services
    }
    found = set()
    for one in cluster.ingresses:
        for backend in _backends(one):
            wanted = backend["port"].get("number") or backend["port"].get("name")
            service = f"{space(one)}/{backend['name']}"
            if service in ports and wanted not in ports[service]:
                found.add(f"{key(one)} -> {backend['name']}:{wanted}")
    return sorted(found)


@answer
def duplicate_hosts(cluster: Cluster) -> Any:
    found: dict[str, set[str]] = {}
    for one in cluster.ingresses:
        for rule in one["spec"].get("rules", []):
            found.setdefault(rule.get("host"), set()).add(key(one))
    return {host: sorted(claims) for host, claims in found.items() if len(claims) > 1}


@answer
def ingress_no_tls(cluster: Cluster) -> Any:
    found = []
    for one in cluster.ingresses:
        covered = {host for entry in one["spec"].get("tls", []) for host in entry.get("hosts", [])}
        if {rule["host"] for rule in one["spec"]["rules"]} - covered:
            found.append(key(one))
    return sorted(found)


@answer
def ingress_class(cluster: Cluster) -> Any:
    there = {name(one) for one in cluster.ingressclasses}
    classes = {key(one): one["spec"].get("ingressClassName") for one in cluster.ingresses}
    return {ingress: wanted for ingress, wanted in classes.items() if wanted and wanted not in there}


@answer
def netpol_selects_none(cluster: Cluster) -> Any:
    return sorted(
        key(one)
        for one in cluster.netpols
        if not any(matches(one["spec"]["podSelector"], labels(pod)) for pod in cluster.within("pods", space(one)))
    )


@answer
def no_default_deny(cluster: Cluster) -> Any:
    closed = {
        space(one)
        for one in cluster.netpols
        if not one["spec"]["podSelector"]
        and "Ingress" in one["spec"].get("policyTypes", [])
        and not one["spec"].get("ingress")
    }
    return sorted({space(pod) for pod in cluster.pods} - closed)


@answer
def unprotected_pods(cluster: Cluster) -> Any:
    selectors = [one["spec"]["podSelector"] for one in cluster.netpols if space(one) == "payments"]
    pods = cluster.within("pods", "payments")
    selected = sum(any(matches(selector, labels(pod)) for selector in selectors) for pod in pods)
    return {"selected": selected, "unselected": len(pods) - selected}


@answer
def webhooks_dead(cluster: Cluster) -> Any:
    counts, there = _ready_addresses(cluster), {key(one) for one in cluster.services}
    found = []
    for one in [*cluster.validating, *cluster.mutating]:
        for hook in one.get("webhooks", []):
            service = hook["clientConfig"].get("service")
            if service and hook["failurePolicy"] == "Fail":
                target = f"{service['namespace']}/{service['name']}"
                if target not in there or not counts.get(target):
                    found.append(f"{name(one)}/{hook['name']}")
    return sorted(found)


@answer
def webhook_timeouts(cluster: Cluster) -> Any:
    return {
        f"{name(one)}/{hook['name']}": hook["timeoutSeconds"]
        for one in [*cluster.validating, *cluster.mutating]
        for hook in one.get("webhooks", [])
        if hook["timeoutSeconds"] > 10
    }
