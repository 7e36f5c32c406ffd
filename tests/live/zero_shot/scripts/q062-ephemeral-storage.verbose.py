# question: q062-ephemeral-storage · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict

GIB = 1024 ** 3
RESOURCE = "ephemeral-storage"


def pod_request(pod: Any) -> float:
    """Ephemeral storage requested by the pod's containers, in bytes."""
    total = 0.0
    for container in pod.spec.containers or []:
        resources = getattr(container, "resources", None)
        requests = getattr(resources, "requests", None) if resources else None
        if isinstance(requests, dict) and requests.get(RESOURCE):
            total += float(quantity(requests[RESOURCE]))
    return total


def main() -> Dict[str, float]:
    """GiB of ephemeral storage by node."""
    totals: Dict[str, float] = {}
    for pod in k8s.coreV1().list_pod_for_all_namespaces().items:
        node = pod.spec.node_name
        if node is None or pod.status.phase in ("Succeeded", "Failed"):
            continue
        totals[node] = totals.get(node, 0.0) + pod_request(pod)
    return {node: round(value / GIB, 2) for node, value in totals.items() if value > 0}


main()
