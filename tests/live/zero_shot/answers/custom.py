"""Answers about custom resources and about the API itself."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    condition,
    counted,
    days_since,
    key,
    name,
    ready,
    space,
    whole,
)


@answer
def certs_30_days(cluster: Cluster) -> Any:
    left = [
        (-days_since(one["status"]["notAfter"]), key(one))
        for one in cluster.certificates
        if "notAfter" in one["status"]
    ]
    return [[certificate, whole(days)] for days, certificate in sorted(left) if days < 30]


@answer
def certs_not_ready(cluster: Cluster) -> Any:
    return {key(one): condition(one, "Ready")["reason"] for one in cluster.certificates if not ready(one)}


@answer
def cert_issuers(cluster: Cluster) -> Any:
    there = {("Issuer", key(one)) for one in cluster.issuers}
    there |= {("ClusterIssuer", name(one)) for one in cluster.clusterissuers}
    found = {}
    for one in cluster.certificates:
        reference = one["spec"]["issuerRef"]
        kind = reference.get("kind", "Issuer")
        target = reference["name"] if kind == "ClusterIssuer" else f"{space(one)}/{reference['name']}"
        if (kind, target) not in there:
            found[key(one)] = f"{kind}/{reference['name']}"
    return found


@answer
def apps_unhealthy(cluster: Cluster) -> Any:
    pairs = {
        name(one): [one["status"]["sync"]["status"], one["status"]["health"]["status"]] for one in cluster.applications
    }
    return {app: pair for app, pair in pairs.items() if pair != ["Synced", "Healthy"]}


@answer
def apps_by_project(cluster: Cluster) -> Any:
    return counted(one["spec"]["project"] for one in cluster.applications)


@answer
def apps_missing_namespace(cluster: Cluster) -> Any:
    there = set(map(name, cluster.namespaces))
    targets = {name(one): one["spec"]["destination"]["namespace"] for one in cluster.applications}
    return {app: namespace for app, namespace in targets.items() if namespace not in there}


@answer
def tenants(cluster: Cluster) -> Any:
    there = set(map(name, cluster.namespaces))
    missing = {name(one): sorted(set(one["spec"]["namespaces"]) - there) for one in cluster.tenants}
    return {tenant: names for tenant, names in missing.items() if names}


def _served(crd: Object) -> list[Object]:
    return [version for version in crd["spec"]["versions"] if version["served"]]


@answer
def crd_versions(cluster: Cluster) -> Any:
    found = {name(one): sorted(version["name"] for version in _served(one)) for one in cluster.crds}
    return {crd: versions for crd, versions in found.items() if len(versions) > 1}


@answer
def crd_deprecated(cluster: Cluster) -> Any:
    found = {
        name(one): sorted(version["name"] for version in _served(one) if version.get("deprecated"))
        for one in cluster.crds
    }
    return {crd: versions for crd, versions in found.items() if versions}


@answer
def crd_empty(cluster: Cluster) -> Any:
    found = []
    for one in cluster.crds:
        version = next(version["name"] for version in one["spec"]["versions"] if version["storage"])
        path = f"/apis/{one['spec']['group']}/{version}/{one['spec']['names']['plural']}"
        if not cluster.get(path)["items"]:
            found.append(name(one))
    return sorted(found)


@answer
def api_groups(cluster: Cluster) -> Any:
    return len(cluster.get("/apis")["groups"])


@answer
def api_multi_version(cluster: Cluster) -> Any:
    groups = cluster.get("/apis")["groups"]
    found = {one["name"]: sorted(version["version"] for version in one["versions"]) for one in groups}
    return {group: versions for group, versions in found.items() if len(versions) > 1}


@answer
def server_version(cluster: Cluster) -> Any:
    return cluster.get("/version")["gitVersion"]


@answer
def autoscaling_resources(cluster: Cluster) -> Any:
    resources = cluster.get("/apis/autoscaling/v2")["resources"]
    return sorted(one["name"] for one in resources if "/" not in one["name"])


@answer
def read_missing(cluster: Cluster) -> Any:
    return cluster.status_of("/apis/apps/v1/namespaces/shop/deployments/does-not-exist")
