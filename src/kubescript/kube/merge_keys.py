"""The fields by which Kubernetes tells list items apart: its patchMergeKeys and x-kubernetes-list-map-keys."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["ALL", "list_key", "tells_apart"]

_LIST_KEYS: Final = (
    "name", "key", "containerPort", "port", "mountPath", "devicePath", "type", "ip", "uid", "topologyKey",
)  # fmt: skip
"""The fields, in the order in which they are tried."""
ALL: Final = frozenset(_LIST_KEYS) | {"protocol"}
"""All fields, including the second key of ports, which is not unique by itself."""


def list_key(*lists: list[Any]) -> str | None:
    """Returns the field that tells the items of all these lists apart; None where items are identified by index."""
    for key in _LIST_KEYS:
        if all(tells_apart(key, each) for each in lists):
            return key
    return None


def tells_apart(key: str, values: list[Any]) -> bool:
    """Says whether this field is unique in each of these items."""
    seen = set()
    for value in values:
        label = value.get(key) if isinstance(value, dict) else None
        if isinstance(label, bool) or not isinstance(label, str | int):
            return False
        if label in seen:
            return False
        seen.add(label)
    return True
