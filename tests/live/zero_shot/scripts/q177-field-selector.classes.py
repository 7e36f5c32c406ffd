# question: q177-field-selector · style: classes · author: a backend developer who models everything
from dataclasses import dataclass


@dataclass
class FieldSelector:
    terms: dict

    def __str__(self) -> str:
        return ",".join(f"{k}={v}" for k, v in self.terms.items())


selector = FieldSelector({"spec.nodeName": "worker-a1", "status.phase": "Running"})
pods = k8s.coreV1().list_pod_for_all_namespaces(field_selector=str(selector))
sorted(f"{p.metadata.namespace}/{p.metadata.name}" for p in pods.items)
