"""Problems of a node or a pod in one or two words, for the tools about whole clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubescript.guest.kubectl.rows import pod_cells
from kubescript.guest.sdk.objects import base_view
from kubescript.guest.sdk.values import lazy_json

__all__ = ["HEALTHY_PODS", "is_ready", "node_troubles", "pod_state"]

Object = Mapping[str, Any]

HEALTHY_PODS: Final = frozenset({"Running", "Completed", "Succeeded"})
"""States of healthy pods."""


def is_ready(found: Object) -> bool:
    """Says whether the condition Ready of a node or a pod is true."""
    return "Ready" in _true_conditions(found)


def node_troubles(nodes: Iterable[Object]) -> list[str]:
    """Returns problems such as `node-c2 NotReady`, `node-c1 DiskPressure`, `node-d1 SchedulingDisabled`."""
    found = []
    for node in nodes:
        troubles = _node_words(node)
        if troubles:
            words = ",".join(troubles)
            found.append(f"{node['metadata']['name']} {words}")
    return found


def _node_words(node: Object) -> list[str]:
    """Returns a node's problems; an empty list if it has none."""
    true = _true_conditions(node)
    words = []
    if "Ready" not in true:
        words.append("NotReady")
    # All other conditions of a node are problems, such as DiskPressure.
    words += [kind for kind in true if kind != "Ready"]
    spec = node.get("spec") or {}
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    return words


def pod_state(pod: Object) -> str:
    """Returns the state as in kubectl's STATUS column, but NotReady for a running pod that is not ready."""
    data = lazy_json.whole(base_view.unwrap(pod))
    state = pod_cells.status(data)
    # kubectl's column STATUS does not show this; its column READY does.
    if state == "Running" and not is_ready(pod):
        return "NotReady"
    return state


def _true_conditions(found: Object) -> list[str]:
    """Returns the types of the conditions that are true."""
    status = found.get("status") or {}
    true = []
    for each in status.get("conditions") or ():
        kind = each["type"]
        if each["status"] == "True":
            true.append(kind)
    return true
