"""An object's state according to its status, with the same meaning as in kubescript's plans."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kubescript.kube import documents, state

__all__ = ["State", "images", "node", "of", "uses"]

_REFERENCES: Final = {
    "configMap": ("configmaps", "name"),
    "configMapKeyRef": ("configmaps", "name"),
    "configMapRef": ("configmaps", "name"),
    "persistentVolumeClaim": ("persistentvolumeclaims", "claimName"),
    "secret": ("secrets", "secretName"),
    "secretKeyRef": ("secrets", "name"),
    "secretRef": ("secrets", "name"),
}
"""Pod field that refers to an object → the object's resource, and the field with its name."""


class State(NamedTuple):
    """An object's state. A field is None if the object's kind does not have it."""

    running: bool | None = None
    healthy: bool | None = None
    terminating: bool | None = None
    owners: tuple[str, ...] | None = None


def of(document: dict[str, Any] | None, kind: str = "") -> State:
    """Returns an object's state; `kind` is used if the object, as a list item, does not contain its own."""
    if document is None:
        return State()
    running, healthy, terminating, owner = state.of(document, kind)
    owners = (owner,) if owner else ()
    return State(running, healthy, terminating, owners)


def images(document: Any) -> tuple[str, ...]:
    """Returns the images of all containers and volumes, wherever the pod templates are."""
    found = set(documents.images(document))
    return tuple(sorted(found))


def node(document: dict[str, Any] | None) -> str:
    """Returns a pod's node; empty for other kinds."""
    spec = documents.mapping(document, "spec")
    return str(spec.get("nodeName") or "")


def uses(document: dict[str, Any] | None) -> tuple[str, ...] | None:
    """Returns a pod's references, such as `configmaps/settings`. None if the pod is unknown."""
    if document is None:
        return None
    found = set()
    # Volumes and variables contain such references, at several depths.
    for each in documents.walk(documents.mapping(document, "spec")):
        for key, (resource, name) in _REFERENCES.items():
            target = each.get(key)
            if isinstance(target, dict):
                found.add(f"{resource}/{target.get(name)}")
    return tuple(sorted(found))
