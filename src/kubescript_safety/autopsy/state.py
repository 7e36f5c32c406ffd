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
    """An object's state. None: its kind does not have it."""

    running: bool | None = None
    healthy: bool | None = None
    terminating: bool | None = None
    owners: tuple[str, ...] | None = None


def of(document: dict[str, Any] | None, kind: str = "") -> State:
    """Returns an object's state; `kind` is used if the object, as a list item, does not contain its own."""
    if document is None:
        return State()
    running, healthy, terminating, owner = state.of(document, kind)
    return State(running, healthy, terminating, (owner,) if owner else ())


def images(document: Any) -> tuple[str, ...]:
    """Returns the images of all containers and volumes, wherever the pod templates are."""
    return tuple(sorted(set(documents.images(document))))


def node(document: dict[str, Any] | None) -> str:
    """Returns a pod's node; empty for other kinds."""
    return str(documents.mapping(document, "spec").get("nodeName") or "")


def uses(document: dict[str, Any] | None) -> tuple[str, ...] | None:
    """Returns a pod's references, such as `configmaps/settings`. None if the pod is unknown."""
    if document is None:
        return None
    found = set()
    for each in documents.walk(documents.mapping(document, "spec")):
        for key, (resource, name) in _REFERENCES.items():
            if isinstance(each.get(key), dict):
                found.add(f"{resource}/{each[key].get(name)}")
    return tuple(sorted(found))
