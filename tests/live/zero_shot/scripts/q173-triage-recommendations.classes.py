# question: q173-triage-recommendations · style: classes · author: an incident commander
from dataclasses import dataclass, asdict, field


@dataclass
class Diagnosis:
    desired: int = 0
    ready: int = 0
    reasons: list[str] = field(default_factory=list)
    warnings: int = 0


class Triage:
    def __init__(self, ns: str, name: str):
        self.ns, self.name = ns, name
        self.core, self.apps = k8s.coreV1(), k8s.appsV1()

    def run(self) -> Diagnosis:
        dep = self.apps.read_namespaced_deployment(self.name, self.ns)
        pods = self.core.list_namespaced_pod(self.ns, label_selector=f"app={self.name}").items
        names = {p.metadata.name for p in pods}
        reasons = {
            cs.state.waiting.reason
            for p in pods
            for cs in p.status.container_statuses or []
            if cs.state and cs.state.waiting
        }
        events = self.core.list_namespaced_event(self.ns, field_selector="type=Warning").items
        warnings = sum(e.count or 1 for e in events
                       if e.involved_object.kind == "Pod" and e.involved_object.name in names)
        return Diagnosis(dep.spec.replicas, dep.status.ready_replicas or 0, sorted(reasons), warnings)


asdict(Triage("shop", "recommendations").run())
