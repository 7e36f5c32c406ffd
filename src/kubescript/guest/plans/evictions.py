"""The pods that a node's new NoExecute taints evict: those that do not tolerate them, at once or after their time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import impact_report, inventory, removals
from kubescript.guest.sdk import client

__all__ = ["report"]

Json = dict[str, Any]

_RULE: Final = "writes.evicted"
_ENDED: Final = frozenset({"Failed", "Succeeded"})
"""Phases of pods that run no more."""


def report(k8s: client.K8s, node: str, taints: Sequence[Json], one: impact_report.Report) -> None:
    """Reports the pods that these taints evict from a node."""
    kind = tool_kinds.find(k8s, "pods")
    lists = inventory.read_lists(k8s, None, {kind: "json"}, ("fieldSelector", f"spec.nodeName={node}"))
    running = [pod for pod in lists.listed.get(kind, []) if cells.at(pod, "status.phase") not in _ENDED]
    evicted = [pod for pod in running if not _stays(pod, taints)]
    if evicted:
        _tell(kind, running, evicted, taints, one)
    if lists.missing:
        one.find(_RULE, "critical", "the pods that it evicts could not all be counted")
    removals.tell_gaps(one, lists.missing)


def _tell(
    kind: tool_kinds.Kind,
    running: Sequence[Json],
    evicted: Sequence[Json],
    taints: Sequence[Json],
    one: impact_report.Report,
) -> None:
    """Adds the line about the pods that are evicted, and the findings on them."""
    later = sum(_tolerates_all(pod, taints) for pod in evicted)
    text = f"evicts {len(evicted)} of the {len(running)} pods on it (NoExecute)"
    if later:
        text += f", {later} of them only after their tolerationSeconds"
    found = [inventory.find(kind, pod) for pod in evicted]
    bare = [each for each in found if not each.is_controlled]
    one.affect(text, "evicts pods", len(evicted), removals.list_lasting(found))
    one.find(_RULE, "warning", "evicts running pods")
    if bare:
        one.find(_RULE, "critical", "evicts pods without a controller, which do not come back")


def _stays(pod: Json, taints: Sequence[Json]) -> bool:
    """Says whether a pod tolerates all of the taints for ever."""
    for taint in taints:
        if not any(_tolerates(each, taint) and each.get("tolerationSeconds") is None for each in _tolerations(pod)):
            return False
    return True


def _tolerates_all(pod: Json, taints: Sequence[Json]) -> bool:
    """Says whether a pod tolerates all of the taints at least for a while."""
    return all(any(_tolerates(each, taint) for each in _tolerations(pod)) for taint in taints)


def _tolerations(pod: Json) -> list[Json]:
    found: list[Json] = cells.at(pod, "spec.tolerations", [])
    return found


def _tolerates(toleration: Json, taint: Json) -> bool:
    """Says whether a toleration is for a taint, as Kubernetes reads it."""
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    # Comparisons of numbers are not read here: such a pod counts as evicted.
    is_named = bool(toleration.get("key"))
    return operator == "Equal" and is_named and toleration.get("value", "") == taint.get("value", "")
