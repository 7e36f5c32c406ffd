# question: q174-payments-summary · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict

NAMESPACE = "payments"


def is_ready(pod: Any) -> bool:
    """True if the Ready condition of the pod is True."""
    for condition in getattr(pod.status, "conditions", None) or []:
        if condition.type == "Ready":
            return condition.status == "True"
    return False


def is_available(deployment: Any) -> bool:
    """True if the Deployment has all its replicas available."""
    desired = deployment.spec.replicas if deployment.spec.replicas is not None else 1
    return (deployment.status.available_replicas or 0) >= desired


def summarise(namespace: str) -> Dict[str, int]:
    """Build the summary of one namespace."""
    core = k8s.coreV1()
    pods = core.list_namespaced_pod(namespace).items
    deployments = k8s.appsV1().list_namespaced_deployment(namespace).items
    services = core.list_namespaced_service(namespace).items
    claims = core.list_namespaced_persistent_volume_claim(namespace).items
    return {
        "pods": len(pods),
        "ready_pods": sum(1 for p in pods if is_ready(p)),
        "deployments": len(deployments),
        "available_deployments": len([d for d in deployments if is_available(d)]),
        "services": len(services),
        "unbound_claims": len([c for c in claims if c.status.phase != "Bound"]),
    }


summarise(NAMESPACE)
