"""Parts of an object that every side reads: labels, conditions, the controller, replicas and images.

An object may come from a stranger: values of unexpected types are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = ["controller", "has_condition", "images", "labels", "mapping", "number", "replicas", "walk"]

_MAX_OWNER: Final = 300
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})


def mapping(value: Any, key: str) -> dict[str, Any]:
    """Returns a member that is an object; an empty one if it is not."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def number(value: Mapping[str, Any], key: str, default: int = 0) -> int:
    """Returns a member that is a whole number; the default if it is not."""
    found = value.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def labels(document: Any) -> dict[str, str]:
    """Returns the labels of an object."""
    found = mapping(mapping(document, "metadata"), "labels")
    return {key: value for key, value in found.items() if isinstance(value, str)}


def has_condition(status: Mapping[str, Any], name: str) -> bool:
    """Says whether a condition holds."""
    conditions = status.get("conditions")
    return any(
        isinstance(one, dict) and one.get("type") == name and one.get("status") == "True"
        for one in (conditions if isinstance(conditions, list) else ())
    )


def controller(metadata: Mapping[str, Any]) -> str:
    """Returns an object's controller, such as `ReplicaSet/web-7d4b9c6f5`; empty without one."""
    owners = metadata.get("ownerReferences")
    for one in owners if isinstance(owners, list) else ():
        if isinstance(one, dict) and one.get("controller") is True:
            return f"{one.get('kind')}/{one.get('name')}"[:_MAX_OWNER]
    return ""


def replicas(body: Any) -> int | None:
    """Returns the number of replicas of an object or in a request's body. A list is a JSON patch."""
    value: Any = mapping(body, "spec").get("replicas")
    for one in body if isinstance(body, list) else ():
        if isinstance(one, dict) and one.get("path") == "/spec/replicas":
            value = one.get("value")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def images(document: Any) -> Iterator[str]:
    """Yields the images of all containers and image volumes, wherever their pod templates are."""
    for each in walk(document):
        for key in _CONTAINERS & each.keys():
            yield from _of_containers(each[key])
        # Attack: a volume mounts files from an image that no container names.
        reference = mapping(each, "image").get("reference")
        if isinstance(reference, str):
            yield reference


def walk(document: Any) -> Iterator[dict[str, Any]]:
    """Yields all objects in a document, including itself."""
    # An explicit stack instead of recursion: a stranger may have written the document.
    rest = [document]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, dict):
            yield value
            rest.extend(value.values())


def _of_containers(containers: Any) -> Iterator[str]:
    """Yields the images of a list of containers."""
    for container in containers if isinstance(containers, list) else ():
        image = container.get("image") if isinstance(container, dict) else None
        if isinstance(image, str) and image:
            yield image
