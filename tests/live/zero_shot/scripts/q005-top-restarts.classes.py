# question: q005-top-restarts · style: classes · author: a backend developer who models everything
from dataclasses import dataclass
from functools import total_ordering


@total_ordering
@dataclass
class PodRestarts:
    path: str
    restarts: int

    def __lt__(self, other):
        return (-self.restarts, self.path) < (-other.restarts, other.path)


rows = []
for pod in k8s.coreV1().list_pod_for_all_namespaces().items:
    total = sum(cs.restart_count for cs in pod.status.container_statuses or [])
    rows.append(PodRestarts(f"{pod.metadata.namespace}/{pod.metadata.name}", total))
[[r.path, r.restarts] for r in sorted(rows)[:5]]
