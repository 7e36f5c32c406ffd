"""Answers about config maps, priorities, leases and events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    counted,
    days_since,
    hours_since,
    key,
    name,
    space,
)


def _references(pod: Object) -> Iterator[Object]:
    """All references of a pod to config maps."""
    for volume in pod["spec"].get("volumes", []):
        if "configMap" in volume:
            yield volume["configMap"]
        for source in volume.get("projected", {}).get("sources", []):
            if "configMap" in source:
                yield source["configMap"]
    for container in containers(pod, init=True):
        yield from (one["configMapRef"] for one in container.get("envFrom", []) if "configMapRef" in one)
        sources = [one.get("valueFrom", {}) for one in container.get("env", [])]
        yield from (one["configMapKeyRef"] for one in sources if "configMapKeyRef" in one)


@answer
def missing_configmaps(cluster: Cluster) -> Any:
    there = set(map(key, cluster.configmaps))
    wanted = {
        f"{space(pod)}/{one['name']}" for pod in cluster.pods for one in _references(pod) if not one.get("optional")
    }
    return sorted(wanted - there)


@answer
def unused_configmaps(cluster: Cluster) -> Any:
    used = {one["name"] for pod in cluster.within("pods", "shop") for one in _references(pod)}
    return sorted({name(one) for one in cluster.within("configmaps", "shop")} - used - {"kube-root-ca.crt"})


@answer
def missing_keys(cluster: Cluster) -> Any:
    keys = {key(one): {**one.get("data", {}), **one.get("binaryData", {})} for one in cluster.configmaps}
    found = {}
    for pod in cluster.pods:
        for env in (env for one in containers(pod) for env in one.get("env", [])):
            if reference := env.get("valueFrom", {}).get("configMapKeyRef"):
                there = keys.get(f"{space(pod)}/{reference['name']}")
                if there is not None and reference["key"] not in there:
                    found[key(pod)] = f"{reference['name']}/{reference['key']}"
    return found


@answer
def flag_users(cluster: Cluster) -> Any:
    found = []
    for one in cluster.within("deployments", "shop"):
        volumes = one["spec"]["template"]["spec"].get("volumes", [])
        used = [volume.get("configMap", {}).get("name") for volume in volumes]
        used += [s.get("configMapRef", {}).get("name") for c in containers(one) for s in c.get("envFrom", [])]
        if "feature-flags" in used:
            found.append(name(one))
    return sorted(found)


@answer
def immutable_configmaps(cluster: Cluster) -> Any:
    return sorted(key(one) for one in cluster.configmaps if one.get("immutable"))


@answer
def secrets_referenced(cluster: Cluster) -> Any:
    found = set()
    for pod in cluster.within("pods", "payments"):
        spec = pod["spec"]
        found |= {one["name"] for one in spec.get("imagePullSecrets", [])}
        for volume in spec.get("volumes", []):
            sources = [volume, *volume.get("projected", {}).get("sources", [])]
            found |= {one["secret"].get("secretName") or one["secret"]["name"] for one in sources if "secret" in one}
        for container in containers(pod, init=True):
            found |= {one["secretRef"]["name"] for one in container.get("envFrom", []) if "secretRef" in one}
            values = [one.get("valueFrom", {}) for one in container.get("env", [])]
            found |= {one["secretKeyRef"]["name"] for one in values if "secretKeyRef" in one}
    return sorted(found)


@answer
def priority_pods(cluster: Cluster) -> Any:
    return counted(pod["spec"].get("priorityClassName") or "none" for pod in cluster.pods)


@answer
def priority_classes(cluster: Cluster) -> Any:
    rows = [[name(one), one["value"]] for one in cluster.priorityclasses if not name(one).startswith("system-")]
    return sorted(rows, key=lambda row: -row[1])


@answer
def scheduler_leader(cluster: Cluster) -> Any:
    (lease,) = (one for one in cluster.within("leases", "kube-system") if name(one) == "kube-scheduler")
    return lease["spec"]["holderIdentity"]


def _warnings(cluster: Cluster) -> list[Object]:
    return [one for one in cluster.events if one["type"] == "Warning"]


@answer
def warnings_by_reason(cluster: Cluster) -> Any:
    found: dict[str, int] = {}
    for one in _warnings(cluster):
        found[one["reason"]] = found.get(one["reason"], 0) + one.get("count", 1)
    return found


@answer
def recent_events(cluster: Cluster) -> Any:
    dated = [one for one in _warnings(cluster) if one.get("lastTimestamp")]
    return counted(space(one) for one in dated if hours_since(one["lastTimestamp"]) < 1)


@answer
def noisiest_objects(cluster: Cluster) -> Any:
    found: dict[str, int] = {}
    for one in _warnings(cluster):
        about = one["involvedObject"]
        target = "/".join(filter(None, (about["kind"], about.get("namespace"), about["name"])))
        found[target] = found.get(target, 0) + one.get("count", 1)
    return [[target, count] for target, count in sorted(found.items(), key=lambda row: -row[1])[:3]]


@answer
def last_event(cluster: Cluster) -> Any:
    about = [
        one
        for one in cluster.within("events", "shop")
        if (one["involvedObject"]["kind"], one["involvedObject"]["name"]) == ("Deployment", "recommendations")
    ]
    return max(about, key=lambda one: str(one["lastTimestamp"]))["message"]


@answer
def stuck_objects(cluster: Cluster) -> Any:
    kinds = {"PersistentVolumeClaim": cluster.claims, "Pod": cluster.pods, "Certificate": cluster.certificates}
    return sorted(
        f"{kind}/{key(one)}"
        for kind, items in kinds.items()
        for one in items
        if (since := one["metadata"].get("deletionTimestamp"))
        and days_since(since) > 1
        and one["metadata"].get("finalizers")
    )


@answer
def young_namespaces(cluster: Cluster) -> Any:
    ages = {name(one): days_since(one["metadata"]["creationTimestamp"]) for one in cluster.namespaces}
    return sorted((namespace for namespace, age in ages.items() if age < 7), key=ages.__getitem__)
