"""Snapshots: every object of a cluster at one moment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

from kubescript_safety.cluster.api import Api, Kind, Object, key

__all__ = ["Snapshot", "difference", "hide_secrets", "take"]

Snapshot = dict[str, Object]
"""Key → object."""
_DIGITS: Final = 16
_SECRET: Final = ("data", "stringData")
_LEFT_OUT: Final = frozenset(
    {"componentstatuses", "endpoints", "events", "events.events.k8s.io", "leases.coordination.k8s.io"}
)
"""Kinds that change constantly, or repeat what other kinds contain."""


def take(api: Api, kinds: Iterable[Kind]) -> Snapshot:
    """Returns the cluster's objects of these kinds, except events and similar ones. Raises ApiError."""
    found = {}
    for kind in kinds:
        if kind.name in _LEFT_OUT:
            continue
        listed = api.get(kind.path(), resourceVersion="0")
        for thing in listed["items"]:
            thing |= {"apiVersion": kind.api_version, "kind": kind.kind}  # list items lack it
            found[key(kind, thing)] = thing
    return found


def difference(before: Mapping[str, Object], after: Mapping[str, Object]) -> tuple[Snapshot, tuple[str, ...]]:
    """Returns new and changed objects, and the keys of deleted ones."""
    changed = {name: thing for name, thing in after.items() if _version(before.get(name)) != _version(thing)}
    gone = before.keys() - after.keys()
    return changed, tuple(sorted(gone))


def hide_secrets(thing: Object) -> Object:
    """Returns the object for a transcript: without field managers, and with digests for a Secret's values."""
    metadata = {name: value for name, value in thing["metadata"].items() if name != "managedFields"}
    shown = {**thing, "metadata": metadata}
    if thing.get("kind") != "Secret":
        return shown
    for name in _SECRET:
        values = shown.pop(name, None)
        if isinstance(values, dict):
            shown[name] = {one: _digest(str(value)) for one, value in values.items()}
    return shown


def _version(thing: Object | None) -> object:
    """Returns a value that differs whenever an object has changed."""
    if thing is None:
        return None
    return (thing["metadata"].get("uid"), thing["metadata"].get("resourceVersion"))


def _digest(text: str) -> str:
    """Returns a string that stands for a value of a Secret."""
    # These digits are enough to tell values apart, but too few to find out by trial which value it was.
    whole = hashlib.sha256(text.encode()).hexdigest()
    return "sha256:" + whole[:_DIGITS]
