"""Suggest CPU requests for the Deployments in payments."""
import math
from decimal import Decimal, ROUND_CEILING
from typing import Dict, Optional
from kubernetes.client.rest import ApiException

NS = "payments"
FACTOR = Decimal("1.2")
STEP = 10  # millicores

core = k8s.coreV1()
apps = k8s.appsV1()


def controller_of(obj, kind: str) -> Optional[str]:
    """Return the uid of the controlling owner of the given kind, if any."""
    for ref in obj.metadata.owner_references or []:
        if ref.controller is True and ref.kind == kind:
            return ref.uid
    return None


# 1. Deployment uid -> name
deployment_names: Dict[str, str] = {}
for d in apps.list_namespaced_deployment(NS).items:
    deployment_names[d.metadata.uid] = d.metadata.name

# 2. ReplicaSet uid -> deployment name
rs_to_deployment: Dict[str, str] = {}
for rs in apps.list_namespaced_replica_set(NS).items:
    uid = controller_of(rs, "Deployment")
    if uid in deployment_names:
        rs_to_deployment[rs.metadata.uid] = deployment_names[uid]

# 3. Pod name -> deployment name
pod_to_deployment: Dict[str, str] = {}
for pod in core.list_namespaced_pod(NS).items:
    uid = controller_of(pod, "ReplicaSet")
    if uid in rs_to_deployment:
        pod_to_deployment[pod.metadata.name] = rs_to_deployment[uid]

# 4. Metrics
try:
    metrics = k8s.metricsV1beta1().list_namespaced_pod_metrics(NS)
except (ApiException, AttributeError) as e:
    print("falling back to the cluster-wide list:", e)
    metrics = [m for m in k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces() if m.metadata.namespace == NS]

highest: Dict[str, Decimal] = {}
for m in metrics:
    deployment = pod_to_deployment.get(m.metadata.name)
    if deployment is None:
        continue
    total = Decimal(0)
    for c in m.containers or []:
        cpu = c.usage.get("cpu", "0")
        # nanocores as an exact number
        total += Decimal(round(quantity(cpu) * 1_000_000_000)) / Decimal(1_000_000)
    if deployment not in highest or total > highest[deployment]:
        highest[deployment] = total

# 5. Suggestion: max * 1.2, rounded up to the next multiple of 10m
result: Dict[str, int] = {}
for deployment, usage in sorted(highest.items()):
    steps = (usage * FACTOR / STEP).to_integral_value(rounding=ROUND_CEILING)
    result[deployment] = int(steps) * STEP

result
