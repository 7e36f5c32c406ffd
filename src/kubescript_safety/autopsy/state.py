"""What an object does, as its status tells. It means what kubescript's own plans mean by it."""

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
"""Field of a pod that refers to an object → what the object is, and which field has its name."""


class State(NamedTuple):
    """What an object does. None: its kind says nothing of it."""

    running: bool | None = None
    healthy: bool | None = None
    terminating: bool | None = None
    owners: tuple[str, ...] | None = None


def of(document: dict[str, Any] | None, kind: str = "") -> State:
    """Returns what an object does; `kind` is used where the object, as an item of a list, does not say its own."""
    if document is None:
        return State()
    running, healthy, terminating, owner = state.of(document, kind)
    return State(running, healthy, terminating, (owner,) if owner else ())


def images(document: Any) -> tuple[str, ...]:
    """Returns the images of all containers and volumes, wherever their pods' templates are."""
    return tuple(sorted(set(documents.images(document))))


def node(document: dict[str, Any] | None) -> str:
    """Returns where a pod runs; empty for other kinds."""
    return str(documents.mapping(document, "spec").get("nodeName") or "")


def uses(document: dict[str, Any] | None) -> tuple[str, ...] | None:
    """Returns what a pod refers to, as `configmaps/settings`. None when nothing is known of the pod."""
    if document is None:
        return None
    found = set()
    for each in documents.walk(documents.mapping(document, "spec")):
        for key, (resource, name) in _REFERENCES.items():
            if isinstance(each.get(key), dict):
                found.add(f"{resource}/{each[key].get(name)}")
    return tuple(sorted(found))
