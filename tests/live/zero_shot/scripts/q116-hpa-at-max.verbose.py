# question: q116-hpa-at-max · style: verbose · author: a careful enterprise engineer
from typing import Any, List


def at_maximum(hpa: Any) -> bool:
    """True if the autoscaler runs its maximum of replicas."""
    current = getattr(hpa.status, "current_replicas", None)
    maximum = getattr(hpa.spec, "max_replicas", None)
    return isinstance(current, int) and isinstance(maximum, int) and current == maximum


def main() -> List[str]:
    """Autoscalers at their maximum."""
    api = k8s.autoscalingV2()
    hpas = api.list_horizontal_pod_autoscaler_for_all_namespaces().items
    return sorted(f"{h.metadata.namespace}/{h.metadata.name}" for h in hpas if at_maximum(h))


main()
