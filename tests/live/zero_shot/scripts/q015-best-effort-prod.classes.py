# question: q015-best-effort-prod · style: classes · author: a backend developer who models everything
from dataclasses import dataclass
from enum import Enum


class QoS(Enum):
    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


@dataclass(frozen=True, order=True)
class PodRef:
    namespace: str
    name: str
    qos: QoS

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}"


v1 = k8s.coreV1()
prod = {ns.metadata.name for ns in v1.list_namespace(label_selector="env=prod").items}
refs = [
    PodRef(p.metadata.namespace, p.metadata.name, QoS(p.status.qos_class))
    for p in v1.list_pod_for_all_namespaces().items
    if p.metadata.namespace in prod and p.status.qos_class
]
sorted(r.path for r in refs if r.qos is QoS.BEST_EFFORT)
