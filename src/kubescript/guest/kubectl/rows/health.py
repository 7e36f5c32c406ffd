"""Problems of a node or a pod in one or two words, for the tools about whole clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kubescript.guest.kubectl.rows import pod_cells
from kubescript.guest.sdk.objects import base_view
from kubescript.guest.sdk.values import lazy_json

__all__ = ["HEALTHY_PODS", "is_ready", "node_troubles", "pod_state"]

HEALTHY_PODS: Final = frozenset({"Running", "Completed", "Succeeded"})
"""States of healthy pods."""


def is_ready(found: Mapping[str, Any]) -> bool:
    """Says whether the condition Ready of a node or a pod is true."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in _conditions(found))


def node_troubles(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns problems such as `node-c2 NotReady`, `node-c1 DiskPressure`, `node-d1 SchedulingDisabled`."""
    found = []
    for node in nodes:
        troubles = [] if is_ready(node) else ["NotReady"]
        others = [each["type"] for each in _conditions(node) if each["type"] != "Ready" and each["status"] == "True"]
        troubles += others
        if (node.get("spec") or {}).get("unschedulable"):
            troubles.append("SchedulingDisabled")
        if troubles:
            found.append(f"{node['metadata']['name']} {','.join(troubles)}")
    return found


def pod_state(pod: Mapping[str, Any]) -> str:
    """Returns the state as in kubectl's STATUS column, but NotReady for a running pod that is not ready."""
    state = pod_cells.status(lazy_json.whole(base_view.unwrap(pod)))
    if state == "Running" and not is_ready(pod):
        return "NotReady"
    return state


def _conditions(found: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    status: Mapping[str, Any] = found.get("status") or {}
    return status.get("conditions") or ()
