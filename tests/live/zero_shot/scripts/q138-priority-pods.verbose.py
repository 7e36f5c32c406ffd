# question: q138-priority-pods · style: verbose · author: a careful enterprise engineer
from typing import Dict, List, Any


def list_pods() -> List[Any]:
    """All pods of the cluster, page by page."""
    api = k8s.coreV1()
    pods: List[Any] = []
    token = None
    while True:
        page = api.list_pod_for_all_namespaces(limit=500, _continue=token)
        pods.extend(page.items)
        token = page.metadata._continue
        if not token:
            return pods


def count_by_priority(pods: List[Any]) -> Dict[str, int]:
    """Count the pods by priority class name."""
    counts: Dict[str, int] = {}
    for pod in pods:
        name = pod.spec.priority_class_name or "none"
        counts[name] = counts.get(name, 0) + 1
    return counts


count_by_priority(list_pods())
