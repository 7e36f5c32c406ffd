# question: q141-scheduler-leader · style: classes · author: a backend developer
from typing import NamedTuple


class Leader(NamedTuple):
    lease: str
    holder: str


lease = k8s.coordinationV1().read_namespaced_lease("kube-scheduler", "kube-system")
leader = Leader(lease.metadata.name, lease.spec.holder_identity)
leader.holder
