# question: q033-waiting-reasons · style: classes · author: a backend developer who models everything
from typing import NamedTuple, Optional


class ContainerState(NamedTuple):
    pod: str
    container: str
    reason: Optional[str]

    @property
    def is_waiting(self) -> bool:
        return self.reason is not None


def load():
    for pod in k8s.coreV1().list_pod_for_all_namespaces().items:
        for cs in pod.status.container_statuses or []:
            waiting = cs.state.waiting if cs.state else None
            yield ContainerState(pod.metadata.name, cs.name, waiting.reason if waiting else None)


dict(Counter(s.reason for s in load() if s.is_waiting))
