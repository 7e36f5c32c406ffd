"""Images of a plan's workloads that are new in their namespace: of another repository, or even of another registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from kubescript.guest.plans import changed, reads
from kubescript.kube import documents, images

__all__ = ["News", "find", "want"]

_MAX_IMAGES: Final = 20
"""How many new images of one change are told."""


class News(NamedTuple):
    """What is new about an image."""

    text: str
    is_registry: bool
    """Whether its registry is new too."""


def want(look: reads.Reads, change: changed.Change) -> None:
    """Asks for what new images are compared with."""
    if _list_new(change):
        look.want("pods", change.namespace)


def find(look: reads.Reads, change: changed.Change) -> Iterator[News]:
    """Yields what is new about the images of a change. Raises ApiException."""
    new = _list_new(change)
    if not new:
        return
    pods = look.get("pods", change.namespace)
    known = {images.repository(image) for pod in pods for image in documents.images(pod)}
    known |= set(map(images.repository, change.images))
    hosts = {repository.partition("/")[0] for repository in known}
    among = f"the first {reads.LIMIT} pods" if len(pods) >= reads.LIMIT else "the pods"
    where = f"{among} in {change.namespace}"
    for image in new[:_MAX_IMAGES]:
        if not images.repository(image):
            yield News(f"image {image} has no valid name, so its registry is unknown", is_registry=True)
        elif images.registry(image) not in hosts:
            yield News(f"registry {images.registry(image)} is new: no image of {where} is from it", is_registry=True)
        elif images.repository(image) not in known:
            yield News(f"first image of {images.repository(image)} among {where}", is_registry=False)


def _list_new(change: changed.Change) -> list[str]:
    """Returns the images of repositories from which the object has had none."""
    if change.removes:
        return []
    known = set(map(images.repository, change.images))
    return [image for image in change.new_images if images.repository(image) not in known]
