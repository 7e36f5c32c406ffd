# question: q113-quota-90 · style: classes · author: a capacity planner
from typing import NamedTuple


class QuotaUse(NamedTuple):
    path: str
    resource: str
    used: float
    hard: float

    @property
    def percent(self):
        return float(self.used / self.hard * 100) if self.hard else 0.0

    def row(self):
        return [self.path, self.resource, round(self.percent, 1)]


uses = [
    QuotaUse(f"{q.metadata.namespace}/{q.metadata.name}", res, quantity(q.status.used[res]), quantity(hard))
    for q in k8s.coreV1().list_resource_quota_for_all_namespaces().items
    for res, hard in q.status.hard.items()
    if res in q.status.used
]
sorted((u.row() for u in uses if u.percent > 90), key=lambda r: r[:2])
