# question: q123-no-pdb-payments · style: classes · author: a backend developer who models everything
from dataclasses import dataclass
from typing import Dict


@dataclass(frozen=True)
class Selector:
    match_labels: Dict[str, str]

    def covers(self, labels: Dict[str, str]) -> bool:
        return all(labels.get(k) == v for k, v in self.match_labels.items())


selectors = [
    Selector(dict(b.spec.selector.match_labels or {}))
    for b in k8s.policyV1().list_namespaced_pod_disruption_budget("payments").items
    if b.spec.selector
]
uncovered = []
for d in k8s.appsV1().list_namespaced_deployment("payments").items:
    if (d.spec.replicas or 0) < 2:
        continue
    labels = d.spec.template.metadata.labels or {}
    if not any(s.covers(labels) for s in selectors):
        uncovered.append(d.metadata.name)
sorted(uncovered)
