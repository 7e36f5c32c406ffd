"""plan_effects: what the changes of a plan do to other objects, for the people who approve it. The host runs it as a
script, and only for changes that may affect other objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.plans import removals, workloads
from kubescript.guest.sdk import client

__all__ = ["plan_effects"]

Json = dict[str, Any]
_EVICTION: Final = "eviction"


def plan_effects(k8s: client.K8s, changes: Sequence[Json]) -> list[Json]:
    """Returns each change's effects, as lines of text, and findings, as dicts of rule, level and message.

    A change is a dict of group, version, resource, subresource, namespace, name, kind and verb, with `uid` (of the
    object before; empty for a creation), `orphans` (whether a deletion spares the dependents), `rows` (path, old and
    new value, masked, of fields that may affect other objects), `pods` and `new_pods` (`inspection.Pods` before and
    after, or None), `images` (before) and `new_images`.
    """
    answers: list[Json] = [{"effects": [], "findings": []} for _ in changes]
    removed = [index for index, change in enumerate(changes) if _removes(change)]
    if removed:
        lines = removals.list_effects(k8s, [changes[index] for index in removed])
        for index, own in zip(removed, lines, strict=True):
            answers[index]["effects"] += own
    workloads.add_effects(k8s, changes, answers)
    return answers


def _removes(change: Json) -> bool:
    """Says whether a change removes its object."""
    return bool(change["verb"] == "delete" or change["subresource"] == _EVICTION)
