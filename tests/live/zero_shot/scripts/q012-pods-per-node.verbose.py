# question: q012-pods-per-node · style: verbose · author: a careful enterprise engineer
from typing import Dict

from kubernetes.client.rest import ApiException


def count_pods_per_node() -> Dict[str, int]:
    """Return the number of pods for every node name, 'unassigned' for those without one."""
    counts: Dict[str, int] = {}
    try:
        pod_list = k8s.coreV1().list_pod_for_all_namespaces(watch=False)
    except ApiException as exc:
        return {"error": exc.status}
    for pod in getattr(pod_list, "items", []):
        spec = getattr(pod, "spec", None)
        node_name = getattr(spec, "node_name", None) if spec is not None else None
        key = node_name if isinstance(node_name, str) and node_name else "unassigned"
        counts[key] = counts.get(key, 0) + 1
    return counts


count_pods_per_node()
