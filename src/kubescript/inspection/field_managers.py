"""The fields that a server-side apply takes from other managers by force.

Without force, the API server refuses an apply that changes another manager's field. With force, it removes the field
from that manager's entry in `metadata.managedFields`: what an entry has lost in the dry run was taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript.inspection import nodes
from kubescript.kube import field_paths
from kubescript.wire import inspection

__all__ = ["TooManyError", "list_taken"]

_MOST_MANAGERS: Final = 100
"""How many managers may lose fields: each of them is named."""
_MOST_FIELDS: Final = 50
"""How many fields of each manager are named."""
_ITSELF: Final = "."
"""Stands for the object or the item itself, beside its fields."""

_Owner = tuple[Any, ...]
"""What tells an entry from the others."""


class TooManyError(ValueError):
    """More managers lose fields than a person can be told."""


def list_taken(
    about: inspection.Comparison, before: nodes.Node | None, after: nodes.Node | None
) -> tuple[inspection.Taken, ...]:
    """Returns the fields that an apply takes from other managers. Raises TooManyError."""
    if not about.apply or before is None or after is None:
        return ()
    left = _map_entries(after)
    own = (about.manager, "Apply", about.subresource)
    taken = []
    for owner, entry in _map_entries(before).items():
        if owner[:3] == own:
            continue
        lost = list(_list_lost(entry.get("fieldsV1"), left.get(owner, {}).get("fieldsV1"), ""))
        if lost:
            taken.append(inspection.Taken(_name(entry), tuple(lost[:_MOST_FIELDS]), len(lost)))
    # Attack: an apply takes a field from one manager behind many others.
    if len(taken) > _MOST_MANAGERS:
        raise TooManyError
    return tuple(taken)


def _map_entries(document: nodes.Node) -> dict[_Owner, dict[str, nodes.Node]]:
    """Returns the entries of an object's managers."""
    metadata = _members(document).get("metadata")
    managed = _members(metadata).get("managedFields")
    entries = {}
    if managed is None or not isinstance(managed.raw, list):
        return {}
    for item in nodes.items(managed):
        entry = _members(item)
        owner = tuple(_text(entry, key) for key in ("manager", "operation", "subresource", "apiVersion"))
        entries[owner] = entry
    return entries


def _members(node: nodes.Node | None) -> dict[str, nodes.Node]:
    """Returns the members of a value; none if it is no object."""
    if node is None or not isinstance(node.raw, dict):
        return {}
    return {key: field.node for key, field in nodes.fields(node).items()}


def _text(entry: dict[str, nodes.Node], key: str) -> str:
    """Returns a member if it is a string, and an empty string otherwise."""
    node = entry.get(key)
    return node.raw if node is not None and isinstance(node.raw, str) else ""


def _name(entry: dict[str, nodes.Node]) -> str:
    """Returns a manager's name for display."""
    node = entry.get("manager")
    return node.shown if node is not None and isinstance(node.shown, str) else ""


def _list_lost(old: nodes.Node | None, new: nodes.Node | None, path: str) -> Iterator[str]:
    """Yields the paths of the fields that an entry had and no longer has."""
    if old is None or not isinstance(old.raw, dict):
        return
    left = new.raw if new is not None and isinstance(new.raw, dict) else {}
    kept = _members(new)
    for key, field in nodes.fields(old).items():
        if key == _ITSELF:
            continue
        below = (path + _step(field.key))[: field_paths.MAX]
        if field.node.raw not in ({}, {_ITSELF: {}}):
            yield from _list_lost(field.node, kept.get(key), below)
        elif key not in left:
            yield below.removeprefix(".")


def _step(key: Any) -> str:
    """Returns a step of a path; a key that cannot be shown is withheld. The API server writes `f:spec` for a field,
    `k:{"name":"web"}` for an item with this field, `v:"x"` for an item that is a value, and `i:0` for an index."""
    if not isinstance(key, str):
        return nodes.key_step(key)
    kind, _, name = key.partition(":")
    if kind == "f":
        return field_paths.key_step(name)
    value = _decode(name)
    if kind == "k" and isinstance(value, dict):
        for label, item in value.items():
            if isinstance(item, str | int):
                return field_paths.label_step(label, item)
    if isinstance(value, str):
        return field_paths.label_step("name", value)
    return f"[{name}]" if kind == "i" and name.isdigit() else field_paths.key_step(key)


def _decode(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
