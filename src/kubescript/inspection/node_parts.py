"""The parts of a node: its taints, and whether a change is one of its labels, annotations, taints or `unschedulable`,
as cordoning is, or more."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript.kube import documents
from kubescript.wire import inspection

__all__ = ["changes_more", "list_taints"]

_METADATA: Final = frozenset({"annotations", "generation", "labels", "managedFields", "resourceVersion"})
"""Metadata that may change, or changes by itself."""
_SPEC: Final = frozenset({"taints", "unschedulable"})


def list_taints(document: dict[str, Any]) -> tuple[inspection.Taint, ...]:
    """Returns the taints of a node; none for other objects."""
    if (document.get("apiVersion"), document.get("kind")) != ("v1", "Node"):
        return ()
    given = documents.mapping(document, "spec").get("taints")
    if not isinstance(given, list):
        return ()
    return tuple(map(_read_taint, given))


def changes_more(about: inspection.Comparison, before: dict[str, Any] | None, after: dict[str, Any]) -> bool:
    """Says whether a write changes anything else of a node; False for a new node, and for objects of other kinds."""
    if (about.group, about.resource) != ("", "nodes") or before is None:
        return False
    has_status = bool(about.subresource)
    return _rest(before, status=has_status) != _rest(after, status=has_status)


def _read_taint(given: Any) -> inspection.Taint:
    return inspection.Taint(
        key=documents.text(given, "key"),
        value=documents.text(given, "value"),
        effect=documents.text(given, "effect"),
    )


def _rest(node: dict[str, Any], *, status: bool) -> bytes:
    """Returns a node without these parts, in canonical form; `status` says whether its status counts."""
    rest = dict(node)
    # Its kubelet writes the status all the time.
    if not status:
        rest.pop("status", None)
    for part, names in (("metadata", _METADATA), ("spec", _SPEC)):
        value = rest.pop(part, None) or {}
        # Attack: a specification that was missing is there and empty, which is no change.
        if isinstance(value, dict):
            value = {key: value[key] for key in value if key not in names}
        if value:
            rest[part] = value
    return msgspec.json.encode(rest, order="deterministic")
