# question: q120-no-hpa-shop · style: verbose · author: a careful enterprise engineer
from typing import List, Set

from kubernetes.client.exceptions import ApiException

NAMESPACE = "shop"


def scaled_deployments() -> Set[str]:
    """Names of Deployments that are the target of an HPA."""
    try:
        hpas = k8s.autoscalingV2().list_namespaced_horizontal_pod_autoscaler(NAMESPACE)
    except ApiException as exc:
        if exc.status != 404:
            raise
        return set()
    names: Set[str] = set()
    for hpa in hpas.items:
        ref = getattr(hpa.spec, "scale_target_ref", None)
        if ref is not None and ref.kind == "Deployment":
            names.add(ref.name)
    return names


def main() -> List[str]:
    """Deployments without autoscaler, sorted."""
    scaled = scaled_deployments()
    deployments = k8s.appsV1().list_namespaced_deployment(NAMESPACE).items
    return sorted(d.metadata.name for d in deployments if d.metadata.name not in scaled)


main()
