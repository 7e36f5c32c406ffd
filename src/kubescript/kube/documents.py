"""Parts of an object that every side reads: labels, conditions, the controller, replicas and images.

An object may come from a stranger: values of unexpected types are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

__all__ = [
    "controller",
    "has_condition",
    "images",
    "labels",
    "mapping",
    "number",
    "orphans",
    "replicas",
    "text",
    "walk",
]

_MAX_OWNER: Final = 300
_CONTAINERS: Final = frozenset({"containers", "initContainers", "ephemeralContainers"})


def mapping(value: Any, key: str) -> dict[str, Any]:
    """Returns the member if it is an object, and an empty object otherwise."""
    if not isinstance(value, dict):
        return {}
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def text(value: Any, key: str) -> str:
    """Returns the member if it is a string, and an empty string otherwise."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def number(value: Mapping[str, Any], key: str, default: int = 0) -> int:
    """Returns the member if it is a whole number, and the default otherwise."""
    found = value.get(key)
    # In Python, `true` is an int too.
    if isinstance(found, int) and not isinstance(found, bool):
        return found
    return default


def labels(document: Any) -> dict[str, str]:
    """Returns the labels of an object."""
    metadata = mapping(document, "metadata")
    found = mapping(metadata, "labels")
    return {key: value for key, value in found.items() if isinstance(value, str)}


def has_condition(status: Mapping[str, Any], name: str) -> bool:
    """Says whether a condition holds."""
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return False
    # The status of a condition is a string: "True", "False" or "Unknown".
    for condition in conditions:
        if isinstance(condition, dict) and condition.get("type") == name and condition.get("status") == "True":
            return True
    return False


def controller(metadata: Mapping[str, Any]) -> str:
    """Returns an object's controller, such as `ReplicaSet/web-7d4b9c6f5`; empty if it has none."""
    owners = metadata.get("ownerReferences")
    if not isinstance(owners, list):
        return ""
    # An object may have several owners, of which at most one is its controller.
    for owner in owners:
        if isinstance(owner, dict) and owner.get("controller") is True:
            name = f"{owner.get('kind')}/{owner.get('name')}"
            return name[:_MAX_OWNER]
    return ""


def replicas(body: Any) -> int | None:
    """Returns the number of replicas of an object or in a request's body. A list is a JSON patch."""
    value: Any = mapping(body, "spec").get("replicas")
    operations = body if isinstance(body, list) else ()
    # The last operation counts, as in the API server.
    for operation in operations:
        if isinstance(operation, dict) and operation.get("path") == "/spec/replicas":
            value = operation.get("value")
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None


def orphans(body: Any) -> bool:
    """Says whether the body of a deletion spares the object's dependents."""
    if not isinstance(body, dict):
        return False
    return body.get("propagationPolicy") == "Orphan" or body.get("orphanDependents") is True


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
    """Yields all objects in a document, including the document itself."""
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
    if not isinstance(containers, list):
        return
    for container in containers:
        image = container.get("image") if isinstance(container, dict) else None
        if isinstance(image, str) and image:
            yield image
