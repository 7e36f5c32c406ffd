# question: q066-scaled-to-zero · style: verbose · author: a careful enterprise engineer
from typing import Any, Iterable, List, Tuple


def iter_workloads() -> Iterable[Tuple[str, Any]]:
    """Yield (kind, object) for all Deployments and StatefulSets."""
    apps = k8s.appsV1()
    for item in apps.list_deployment_for_all_namespaces().items:
        yield "Deployment", item
    for item in apps.list_stateful_set_for_all_namespaces().items:
        yield "StatefulSet", item


def is_scaled_to_zero(obj: Any) -> bool:
    """True when spec.replicas is explicitly zero."""
    replicas = getattr(obj.spec, "replicas", None)
    return isinstance(replicas, int) and replicas == 0


def main() -> List[str]:
    """Return the sorted paths of workloads scaled to zero."""
    return sorted(
        f"{obj.metadata.namespace}/{kind}/{obj.metadata.name}"
        for kind, obj in iter_workloads()
        if is_scaled_to_zero(obj)
    )


main()
