# question: q023-privileged · style: classes · author: a security engineer with a taste for objects
from dataclasses import dataclass
from typing import List


@dataclass
class PodSecurity:
    namespace: str
    name: str
    privileged: List[bool]

    @property
    def is_privileged(self) -> bool:
        return any(self.privileged)

    @classmethod
    def of(cls, pod):
        containers = list(pod.spec.containers) + list(pod.spec.init_containers or [])
        flags = [bool(c.security_context and c.security_context.privileged) for c in containers]
        return cls(pod.metadata.namespace, pod.metadata.name, flags)


pods = map(PodSecurity.of, k8s.coreV1().list_pod_for_all_namespaces().items)
dict(Counter(p.namespace for p in pods if p.is_privileged))
