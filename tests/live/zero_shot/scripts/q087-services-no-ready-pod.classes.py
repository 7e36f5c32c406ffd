# question: q087-services-no-ready-pod · style: classes · author: a backend developer who models everything
from dataclasses import dataclass, field
from typing import Dict


@dataclass
class Pod:
    namespace: str
    labels: Dict[str, str] = field(default_factory=dict)
    ready: bool = False

    @classmethod
    def from_api(cls, obj):
        ready = any(c.type == "Ready" and c.status == "True" for c in obj.status.conditions or [])
        return cls(obj.metadata.namespace, dict(obj.metadata.labels or {}), ready)


@dataclass
class Service:
    namespace: str
    name: str
    selector: Dict[str, str]

    def matches(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.items() <= pod.labels.items()


v1 = k8s.coreV1()
pods = [Pod.from_api(p) for p in v1.list_pod_for_all_namespaces().items]
ready = [p for p in pods if p.ready]
services = [
    Service(s.metadata.namespace, s.metadata.name, dict(s.spec.selector))
    for s in v1.list_service_for_all_namespaces().items
    if s.spec.selector
]
sorted(f"{s.namespace}/{s.name}" for s in services if not any(s.matches(p) for p in ready))
