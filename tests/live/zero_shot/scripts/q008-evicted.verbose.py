# question: q008-evicted · style: verbose · author: a careful enterprise engineer
from collections import defaultdict
from typing import DefaultDict, Dict


def evicted_by_namespace() -> Dict[str, int]:
    """Number of evicted pods by namespace."""
    counts: DefaultDict[str, int] = defaultdict(int)
    pods = k8s.coreV1().list_pod_for_all_namespaces(field_selector="status.phase=Failed")
    for pod in pods.items:
        reason = getattr(pod.status, "reason", None)
        if reason == "Evicted":
            counts[pod.metadata.namespace] += 1
    return dict(counts)


evicted_by_namespace()
