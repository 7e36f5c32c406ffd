"""What a plan's changes of nodes do to pods: a cordon keeps new pods away, and taints may evict running ones.

Everything is known from the dry runs, so nothing is read for it. The lines have no text of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.changes import plan
from kubescript.wire import inspection

__all__ = ["describe", "list_new_taints"]

_UNSCHEDULABLE: Final = "spec.unschedulable"
_KEEPS_AWAY: Final = {
    "NoSchedule": "new pods that do not tolerate the taint are kept away (NoSchedule); running ones stay",
    "PreferNoSchedule": "new pods go elsewhere where they can (PreferNoSchedule); running ones stay",
}
"""What the effects of taints that evict no pods mean."""


def describe(step: plan.Step) -> tuple[str, ...]:
    """Returns a line for everything that a change of a node does to pods, except evictions, for which the cluster has
    to be looked at."""
    return tuple(_describe(step))


def list_new_taints(changes: inspection.Changes) -> tuple[inspection.Taint, ...]:
    """Returns the taints that a node has only after a write."""
    if changes.after is None:
        return ()
    old = set(changes.before.taints) if changes.before is not None else set()
    return tuple(taint for taint in changes.after.taints if taint not in old)


def _describe(step: plan.Step) -> Iterator[str]:
    if (step.group, step.resource) != ("", "nodes") or step.removes:
        return
    for row in step.rows:
        if row.path == _UNSCHEDULABLE and row.new == "true":
            yield "no new pods are scheduled on it; running pods stay"
        elif row.path == _UNSCHEDULABLE and row.old == "true":
            yield "new pods are scheduled on it again"
    effects = {taint.effect for taint in step.new_taints or ()}
    for effect, line in _KEEPS_AWAY.items():
        if effect in effects:
            yield line
