# question: q030-no-memory-limit-by-owner · style: verbose · author: a careful enterprise engineer
from collections import Counter
from typing import Any, Dict, Optional, Tuple


def find_controller(obj: Any) -> Optional[Any]:
    """Return the owner reference with controller=true, or None."""
    for ref in obj.metadata.owner_references or []:
        if ref.controller:
            return ref
    return None


def has_unlimited_memory(pod: Any) -> bool:
    """True if at least one container of the pod has no memory limit."""
    for container in pod.spec.containers or []:
        resources = container.resources
        limits = resources.limits if resources is not None else None
        if not limits or "memory" not in limits:
            return True
    return False


def build_replicaset_index() -> Dict[Tuple[str, str], Any]:
    """Map (namespace, name) of each ReplicaSet to its controller reference."""
    index: Dict[Tuple[str, str], Any] = {}
    for rs in k8s.appsV1().list_replica_set_for_all_namespaces().items:
        index[(rs.metadata.namespace, rs.metadata.name)] = find_controller(rs)
    return index


def main() -> Dict[str, int]:
    """Count the pods by their top owner."""
    replica_sets = build_replicaset_index()
    counter: Counter = Counter()
    for pod in k8s.coreV1().list_pod_for_all_namespaces().items:
        if pod.status.phase in ("Succeeded", "Failed"):
            continue
        if not has_unlimited_memory(pod):
            continue
        owner = find_controller(pod)
        if owner is None:
            continue
        kind, name = owner.kind, owner.name
        if kind == "ReplicaSet":
            parent = replica_sets.get((pod.metadata.namespace, name))
            if parent is not None and parent.kind == "Deployment":
                kind, name = parent.kind, parent.name
        counter[f"{pod.metadata.namespace}/{kind}/{name}"] += 1
    return dict(counter)


main()
