"""Provides `Containers`, an object's containers by name, and the patches that set their images. intents.py uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

__all__ = ["Containers", "of", "parse_images"]

_TEMPLATE: Final = ("spec", "template", "spec")
_OTHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
"""The path to the pod's spec in objects of these kinds; in all others it is `_TEMPLATE`."""
_EXAMPLE: Final = "k8s.set_image('deployments/web', web='nginx:1.29', namespace='shop')"


class Containers(NamedTuple):
    """An object's containers."""

    path: tuple[str, ...]
    """The path to the pod's spec."""
    main: list[str]
    init: list[str]

    @property
    def names(self) -> list[str]:
        """Returns the names of all containers."""
        return [*self.main, *self.init]

    @property
    def groups(self) -> dict[str, list[str]]:
        """Returns the names by the field that lists the containers."""
        return {"containers": self.main, "initContainers": self.init}

    def merge_patch(self, images: Mapping[str, str]) -> dict[str, Any]:
        """Returns the strategic merge patch that sets these images."""
        patch: dict[str, Any] = {}
        for group, known in self.groups.items():
            changes = [{"name": each, "image": images[each]} for each in known if each in images]
            if changes:
                patch[group] = changes
        for key in reversed(self.path):
            patch = {key: patch}
        return patch

    def json_patch(self, images: Mapping[str, str]) -> list[dict[str, Any]]:
        """Returns the JSON patch that sets these images."""
        # A merge patch of a custom resource would replace the whole list of containers.
        patch = []
        spec = "/".join(self.path)
        for group, known in self.groups.items():
            for index, name in enumerate(known):
                if name not in images:
                    continue
                at = f"/{spec}/{group}/{index}"
                # The list may have changed since it was read: the position must still have this container.
                patch.append({"op": "test", "path": f"{at}/name", "value": name})
                patch.append({"op": "replace", "path": f"{at}/image", "value": images[name]})
        return patch


def of(kind: str, found: Any) -> Containers:
    """Returns the containers of an object or of its pod template; no containers if it has no template."""
    path = _OTHERS.get(kind, _TEMPLATE)
    spec = found
    for key in path:
        spec = spec.get(key) if spec is not None else None
    if spec is None:
        return Containers(path, [], [])
    main = [each["name"] for each in spec.get("containers") or ()]
    init = [each["name"] for each in spec.get("initContainers") or ()]
    return Containers(path, main, init)


def parse_images(
    given: tuple[Any, ...], named: Mapping[str, Any], containers: Containers, title: str
) -> dict[str, str]:
    """Returns images by container, from any spelling: web="nginx:1", {"web": "nginx:1"}, ("web", "nginx:1"),
    container="web" with image="nginx:1", and for a single container an image alone, with or without its keyword.

    Raises TypeError for any other spelling, and ValueError for a container that does not exist; `title` names the
    object.
    """
    # A container may itself be called "image"; the keyword then names it.
    keywords = {"container", "image"} - set(containers.names)
    if named.keys() <= keywords:
        values = [named[key] for key in ("container", "image") if key in named]
        given = (*given, *values)
        named = {}
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
    usable = all(isinstance(image, str) and image for image in images.values())
    if not images or not usable:
        raise TypeError(f"k8s.set_image takes an image for each container: {_EXAMPLE}")
    for name in images:
        if name not in containers.names:
            raise ValueError(f"{title} has no container {name!r}; it has: {', '.join(containers.names)}")
    return images
