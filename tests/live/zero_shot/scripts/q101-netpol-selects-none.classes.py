# question: q101-netpol-selects-none · style: classes · author: a network policy specialist
from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Op(str, Enum):
    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass
class Requirement:
    key: str
    op: Op
    values: list[str]

    def matches(self, labels: dict[str, str]) -> bool:
        if self.op is Op.IN:
            return self.key in labels and labels[self.key] in self.values
        if self.op is Op.NOT_IN:
            return labels.get(self.key) not in self.values
        if self.op is Op.EXISTS:
            return self.key in labels
        return self.key not in labels


@dataclass
class Selector:
    requirements: list[Requirement]

    @classmethod
    def parse(cls, raw) -> Selector:
        reqs = [Requirement(k, Op.IN, [v]) for k, v in (raw.match_labels or {}).items()]
        reqs += [Requirement(e.key, Op(e.operator), list(e.values or [])) for e in raw.match_expressions or []]
        return cls(reqs)

    def matches(self, labels) -> bool:
        return all(r.matches(labels) for r in self.requirements)


labels_by_ns: dict[str, list[dict]] = {}
for pod in k8s.coreV1().list_pod_for_all_namespaces().items:
    labels_by_ns.setdefault(pod.metadata.namespace, []).append(pod.metadata.labels or {})

idle = []
for policy in k8s.networkingV1().list_network_policy_for_all_namespaces().items:
    selector = Selector.parse(policy.spec.pod_selector)
    if not any(selector.matches(l) for l in labels_by_ns.get(policy.metadata.namespace, [])):
        idle.append(f"{policy.metadata.namespace}/{policy.metadata.name}")
sorted(idle)
