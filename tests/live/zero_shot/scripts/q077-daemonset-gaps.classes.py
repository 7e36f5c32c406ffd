# question: q077-daemonset-gaps · style: classes · author: a backend developer who models everything
from dataclasses import dataclass


@dataclass
class DaemonSetStatus:
    path: str
    desired: int
    ready: int

    @property
    def missing(self) -> int:
        return max(self.desired - self.ready, 0)


statuses = [
    DaemonSetStatus(
        path=f"{d.metadata.namespace}/{d.metadata.name}",
        desired=d.status.desired_number_scheduled or 0,
        ready=d.status.number_ready or 0,
    )
    for d in k8s.appsV1().list_daemon_set_for_all_namespaces().items
]
{s.path: s.missing for s in statuses if s.missing}
