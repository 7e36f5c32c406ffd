"""plan_effects: what the changes of a plan do to other objects, for the people who approve it. The host runs it as a
script, and only for changes that may affect other objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.plans import (
    cluster_removals,
    evictions,
    impact_report,
    inventory,
    removals,
    served_kinds,
    workloads,
)
from kubescript.guest.sdk import client
from kubescript.kube import kinds

__all__ = ["plan_effects"]

Json = dict[str, Any]
_EVICTION: Final = "eviction"


def plan_effects(k8s: client.K8s, changes: Sequence[Json]) -> list[Json]:
    """Returns for each change its `effects`, as lines of text; its `findings`, as dicts of rule, level and message; and
    `affected`, the effects that are compared when the plan is applied, as dicts of what, count and uids.

    A change is a dict of group, version, resource, subresource, namespace, name, kind and verb, with `uid` (of the
    object before; empty for a creation), `orphans` (whether a deletion spares the dependents), `pods` and `new_pods`
    (`inspection.Pods` before and after, or None), `images` (before), `new_images`, and `taints` (those that a node gets
    and that evict pods, as `inspection.Taint`).
    """
    reports = [impact_report.Report() for _ in changes]
    by_namespace: defaultdict[str, list[tuple[inventory.Removal, impact_report.Report]]] = defaultdict(list)
    for change, one in zip(changes, reports, strict=True):
        if change["verb"] == "delete" or change["subresource"] == _EVICTION:
            removal = _find_removal(k8s, change)
            by_namespace[removal.namespace].append((removal, one))
    if by_namespace:
        served = served_kinds.discover(k8s, [change["group"] for change in changes])
        for removal, one in by_namespace.pop("", ()):
            cluster_removals.report(k8s, served, removal, one)
        for namespace, pairs in by_namespace.items():
            removals.report(k8s, served, namespace, pairs)
    for change, one in zip(changes, reports, strict=True):
        if change.get("taints"):
            evictions.report(k8s, change["name"], change["taints"], one)
    workloads.report(k8s, changes, reports)
    return [one.answer() for one in reports]


def _find_removal(k8s: client.K8s, change: Json) -> inventory.Removal:
    """Returns the object that a change deletes."""
    # The version is left out: deleting an object deletes it in all versions of its kind.
    kind = tool_kinds.find(k8s, kinds.full_name(change["group"], change["resource"]))
    # A request about a namespace also names it as its namespace.
    namespace = change["namespace"] if kind.namespaced else ""
    return inventory.Removal(kind, namespace, change["name"], change["uid"], change["orphans"])
