"""Owns `Containers`, the containers of an object by name, and the patches that set their images. intents.py uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["Containers", "of", "parse_images"]

_TEMPLATE: Final = ("spec", "template", "spec")
_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
"""Where the spec of a pod is in the objects of a kind; in all others it is in `_TEMPLATE`."""
_EXAMPLE: Final = "k8s.set_image('deployments/web', web='nginx:1.29', namespace='shop')"


class Containers(NamedTuple):
    """The containers of an object."""

    path: tuple[str, ...]
    """The spec of the pod."""
    main: list[str]
    init: list[str]

    @property
    def names(self) -> list[str]:
        """Returns the names of all of them."""
        return [*self.main, *self.init]

    def merge_patch(self, images: Mapping[str, str]) -> dict[str, Any]:
        """Returns the strategic merge patch that sets these images."""
        patch: dict[str, Any] = {}
        for group, known in (("containers", self.main), ("initContainers", self.init)):
            if own := [{"name": each, "image": images[each]} for each in known if each in images]:
                patch[group] = own
        for key in reversed(self.path):
            patch = {key: patch}
        return patch

    def json_patch(self, images: Mapping[str, str]) -> list[dict[str, Any]]:
        """Returns the JSON patch that sets these images."""
        # A merge patch of a custom resource would replace the whole list of containers.
        patch = []
        for group, known in (("containers", self.main), ("initContainers", self.init)):
            for index, name in enumerate(known):
                if name in images:
                    at = f"/{'/'.join(self.path)}/{group}/{index}"
                    patch.append({"op": "test", "path": f"{at}/name", "value": name})
                    patch.append({"op": "replace", "path": f"{at}/image", "value": images[name]})
        return patch


def of(kind: str, found: Any) -> Containers:
    """Returns the containers of an object, or of its template of pods; none where it has no template."""
    path = _OTHERS.get(kind, _TEMPLATE)
    for key in path:
        found = found.get(key) if found is not None else None
    main, init = (
        [each["name"] for each in (found.get(group) if found is not None else None) or ()]
        for group in ("containers", "initContainers")
    )
    return Containers(path, main, init)


def parse_images(
    given: tuple[Any, ...], named: Mapping[str, Any], containers: Containers, title: str
) -> dict[str, str]:
    """Returns images by container, of all spellings: web="nginx:1", {"web": "nginx:1"}, ("web", "nginx:1"),
    container="web" with image="nginx:1", and for a single container an image alone, by either word.

    Raises TypeError for any other, and ValueError for a container that is not there; `title` names the object.
    """
    if named.keys() <= {"container", "image"} - set(containers.names):
        given, named = (*given, *(named[key] for key in ("container", "image") if key in named)), {}
    images = dict(named)
    match given:
        case ():
            pass
        case (str() as image,) if len(containers.main) == 1 and image not in containers.names:
            images[containers.main[0]] = image
        case (str() as container, str() as image):
            images[container] = image
        case (several,) if isinstance(several, Mapping | dict):
            images |= dict(several)
        case _:
            known = ", ".join(containers.names)
            raise TypeError(f"k8s.set_image: which container of {title}? It has: {known}; write {_EXAMPLE}")
    if not images or not all(isinstance(image, str) and image for image in images.values()):
        raise TypeError(f"k8s.set_image takes an image for each container: {_EXAMPLE}")
    if unknown := [each for each in images if each not in containers.names]:
        raise ValueError(f"{title} has no container {unknown[0]!r}; it has: {', '.join(containers.names)}")
    return images
