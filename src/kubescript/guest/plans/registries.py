"""Images of a plan's workloads that are new in their namespace: of another repository, or even of another registry."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, reads
from kubescript.kube import documents, images

__all__ = ["News", "find", "want"]

_MAX_LINES: Final = 10
"""How many registries, or repositories, of one change are told."""


class News(NamedTuple):
    """What is new about the images of a change."""

    registries: list[str]
    """A sentence for each new registry, and for each image whose registry is unknown."""
    repositories: list[str]
    """A line for each new repository of a known registry."""


def want(look: reads.Reads, change: changed.Change) -> None:
    """Asks for what new images are compared with."""
    if _list_new(change):
        look.want("pods", change.namespace)


def find(look: reads.Reads, change: changed.Change) -> News:
    """Returns what is new about the images of a change. Raises ApiException."""
    new = _list_new(change)
    if not new:
        return News([], [])
    pods = look.get("pods", change.namespace)
    known = {images.repository(image) for pod in pods for image in documents.images(pod)}
    known |= set(map(images.repository, change.images))
    hosts = {repository.partition("/")[0] for repository in known}
    none = f"none of the first {reads.LIMIT} pods" if len(pods) >= reads.LIMIT else "no pod"
    none += f" in {change.namespace}"
    unnamed, registries, repositories = [], set(), set()
    for image in new:
        repository = images.repository(image)
        if not repository:
            unnamed.append(f"image {cells.line(image)} has no valid name, so its registry is unknown")
        elif images.registry(image) not in hosts:
            registries.add(f"registry {images.registry(image)} is new: {none} has an image from it")
        elif repository not in known:
            repositories.add(f"first image of {repository}: {none} has one")
    return News([*_cut(sorted(registries)), *_cut(unnamed)], _cut(sorted(repositories)))


def _cut(lines: list[str]) -> list[str]:
    """Returns as many lines as a person can read, and the number of the others."""
    more = len(lines) - _MAX_LINES
    return lines if more <= 0 else [*lines[:_MAX_LINES], f"and {more} more of this kind"]


def _list_new(change: changed.Change) -> list[str]:
    """Returns the images of repositories from which the object has had none."""
    if change.removes:
        return []
    # An image without a valid name is always new.
    known = set(map(images.repository, change.images)) - {""}
    return [image for image in change.new_images if images.repository(image) not in known]
