"""Answers about who uses what by its name: config maps, certificates, repositories, and a name that is misspelt."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, Object, answer, condition, containers, key, name, ready, space

SPELT = {
    "Service": "services", "NetworkPolicy": "netpols", "Deployment": "deployments", "StatefulSet": "statefulsets",
    "Ingress": "ingresses", "HorizontalPodAutoscaler": "hpas", "PodDisruptionBudget": "pdbs",
}  # fmt: skip


def _uses(body: Object) -> Iterator[tuple[str, str]]:
    for one in containers(body, init=True):
        for entry in one.get("env", []):
            if source := entry.get("valueFrom", {}).get("configMapKeyRef"):
                yield source["name"], "env"
        for entry in one.get("envFrom", []):
            if source := entry.get("configMapRef"):
                yield source["name"], "envFrom"
    for volume in body["spec"]["template"]["spec"].get("volumes", []):
        if source := volume.get("configMap"):
            yield source["name"], "volume"
        for part in volume.get("projected", {}).get("sources", []):
            if source := part.get("configMap"):
                yield source["name"], "projected"


@answer
def shop_configmap_uses(cluster: Cluster) -> Any:
    found: dict[str, set[str]] = {}
    for kind, plural in (("Deployment", "deployments"), ("StatefulSet", "statefulsets")):
        for one in cluster.within(plural, "shop"):
            for which, way in _uses(one):
                found.setdefault(which, set()).add(f"{kind}/{name(one)}:{way}")
    return {which: sorted(ways) for which, ways in found.items()}


@answer
def ingress_certificates(cluster: Cluster) -> Any:
    issued = {(space(one), one["spec"]["secretName"]): one for one in cluster.certificates}
    found = {}
    for one in cluster.ingresses:
        if entries := one["spec"].get("tls"):
            issue = issued.get((space(one), entries[0].get("secretName")))
            known = issue and ("Ready" if ready(issue) else condition(issue, "Ready")["reason"])
            found[key(one)] = known or "none"
    return found


def _repository(image: str) -> str:
    path = image.partition("@")[0]
    folder, _, last = path.rpartition("/")
    path = "/".join(filter(None, [folder, last.partition(":")[0]]))
    first, slash, _ = path.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        parts = path.split("/")
    else:
        parts = ["docker.io", *path.split("/")]
    return "/".join(["docker.io", "library", parts[1]] if parts[0] == "docker.io" and len(parts) == 2 else parts)


@answer
def shared_repositories(cluster: Cluster) -> Any:
    found: dict[str, set[str]] = {}
    for pod in cluster.pods:
        for one in containers(pod, init=True):
            found.setdefault(_repository(one["image"]), set()).add(space(pod))
    return {path: sorted(spaces) for path, spaces in found.items() if len(spaces) > 1}


@answer
def misspelt_name(cluster: Cluster) -> Any:
    return sorted(
        f"{kind}/{key(one)}"
        for kind, plural in SPELT.items()
        for one in getattr(cluster, plural)
        if "storefornt" in json.dumps(one.get("spec", {}))
    )
