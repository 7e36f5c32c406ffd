# question: q041-nodes-cpu-80 · style: classes · author: a capacity planner
from dataclasses import dataclass, field
from kubernetes.utils import parse_quantity


@dataclass
class NodeLoad:
    name: str
    allocatable: float
    requests: list = field(default_factory=list)

    @property
    def percent(self) -> float:
        return sum(self.requests) / self.allocatable * 100


v1 = k8s.coreV1()
loads = {n.metadata.name: NodeLoad(n.metadata.name, float(parse_quantity(n.status.allocatable["cpu"]))) for n in v1.list_node().items}
for pod in v1.list_pod_for_all_namespaces().items:
    load = loads.get(pod.spec.node_name)
    if load is None or pod.status.phase in ("Succeeded", "Failed"):
        continue
    for c in pod.spec.containers:
        if c.resources and c.resources.requests and "cpu" in c.resources.requests:
            load.requests.append(float(parse_quantity(c.resources.requests["cpu"])))
{l.name: round(l.percent, 1) for l in loads.values() if l.percent > 80}
