"""Answers about images."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, answer, containers, counted, space


@answer
def latest_images(cluster: Cluster) -> Any:
    found: dict[str, set[str]] = {}
    for pod in cluster.pods:
        for image in (one["image"] for one in containers(pod, init=True)):
            tail = image.rsplit("/", 1)[-1]
            if "@" not in image and (":" not in tail or tail.endswith(":latest")):
                found.setdefault(space(pod), set()).add(image)
    return {namespace: sorted(images) for namespace, images in found.items()}


@answer
def distinct_images(cluster: Cluster) -> Any:
    return len({one["image"] for pod in cluster.pods for one in containers(pod, init=True)})


@answer
def registries(cluster: Cluster) -> Any:
    def registry(image: str) -> str:
        head, slash, _ = image.partition("/")
        return head if slash and ("." in head or ":" in head) else "docker.io"

    return counted(registry(one["image"]) for pod in cluster.pods for one in containers(pod))


@answer
def image_skew(cluster: Cluster) -> Any:
    tags: dict[str, set[str]] = {}
    for image in (one["image"] for pod in cluster.pods for one in containers(pod)):
        if "@" not in image and ":" in image.rsplit("/", 1)[-1]:
            repository, _, tag = image.rpartition(":")
            tags.setdefault(repository, set()).add(tag)
    return {repository: sorted(found) for repository, found in tags.items() if len(found) > 1}
