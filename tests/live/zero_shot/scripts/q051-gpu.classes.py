# question: q051-gpu · style: classes · author: a machine learning platform developer
from dataclasses import dataclass, asdict

GPU = "nvidia.com/gpu"


@dataclass
class GpuSummary:
    allocatable: int = 0
    requested: int = 0


summary = GpuSummary()
v1 = k8s.coreV1()
for node in v1.list_node().items:
    summary.allocatable += int((node.status.allocatable or {}).get(GPU, 0))
for pod in v1.list_pod_for_all_namespaces().items:
    if not pod.spec.node_name or pod.status.phase in ("Succeeded", "Failed"):
        continue
    for c in pod.spec.containers:
        requests = (c.resources.requests if c.resources else None) or {}
        summary.requested += int(requests.get(GPU, 0))
asdict(summary)
