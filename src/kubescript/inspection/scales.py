"""The number of replicas in a Scale, by which a scaling is compared: the scaled object of a custom resource may have it
in any field.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kubescript.inspection import nodes
from kubescript.kube import documents

__all__ = ["complete", "count", "select", "undo"]


def complete(scale: dict[str, Any]) -> dict[str, Any]:
    """Returns a decoded Scale in which the number of replicas stands even if it is 0."""
    spec = documents.mapping(scale, "spec")
    # Attack: the API server leaves out a 0, so that a scaling to zero sets nothing that a rule or an approver sees.
    number = spec.get("replicas")
    return {**scale, "spec": {**spec, "replicas": 0 if number is None else number}}


def count(scale: nodes.Node) -> int | None:
    """Returns a Scale's number of replicas; None if it is no whole number."""
    return documents.replicas(complete(scale.raw))


def select(scale: nodes.Node | None) -> nodes.Node | None:
    """Returns only the number of replicas of a Scale, which is all that a scaling changes. Anything else in its place
    is not shown."""
    if scale is None:
        return None
    number = complete(scale.raw)["spec"]["replicas"]
    shown = count(scale)
    return nodes.Node({"spec": {"replicas": number}}, {"spec": {"replicas": shown}})


def undo(before: nodes.Node) -> str:
    """Returns the JSON patch of a Scale that restores this one; an empty string if it has no whole number."""
    number = count(before)
    if number is None:
        return ""
    # An `add` also replaces, and works on a Scale without the field, whose number is 0.
    operations = [{"op": "add", "path": "/spec/replicas", "value": number}]
    return msgspec.json.encode(operations).decode()
