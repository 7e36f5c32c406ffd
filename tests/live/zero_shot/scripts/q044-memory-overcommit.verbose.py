# question: q044-memory-overcommit · style: verbose · author: a careful enterprise engineer
from decimal import Decimal
from typing import Any, Dict, List

from kubernetes.utils.quantity import parse_quantity

TERMINAL_PHASES = frozenset({"Succeeded", "Failed"})


def memory_limit(pod: Any) -> Decimal:
    """Sum of the memory limits of the pod's containers in bytes."""
    total = Decimal(0)
    for container in pod.spec.containers:
        resources = container.resources
        limits = getattr(resources, "limits", None) or {}
        if "memory" in limits:
            total += parse_quantity(limits["memory"])
    return total


def main() -> List[str]:
    """Names of overcommitted nodes."""
    core = k8s.coreV1()
    limits: Dict[str, Decimal] = {}
    for pod in core.list_pod_for_all_namespaces().items:
        if not pod.spec.node_name or pod.status.phase in TERMINAL_PHASES:
            continue
        limits[pod.spec.node_name] = limits.get(pod.spec.node_name, Decimal(0)) + memory_limit(pod)
    return sorted(
        node.metadata.name
        for node in core.list_node().items
        if limits.get(node.metadata.name, Decimal(0)) > parse_quantity(node.status.allocatable["memory"])
    )


main()
