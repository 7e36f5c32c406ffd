from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple


@dataclass(frozen=True)
class Backend:
    service: str
    port_name: Optional[str]
    port_number: Optional[int]

    @classmethod
    def from_ingress(cls, ing: Any) -> Optional["Backend"]:
        try:
            svc = ing.spec.rules[0].http.paths[0].backend.service
        except (IndexError, AttributeError, TypeError):
            return None
        if svc is None:
            return None
        port = svc.port
        return cls(svc.name, port.name if port else None, port.number if port else None)

    def find_port(self, service: Any) -> Optional[Any]:
        for p in service.spec.ports or []:
            if self.port_name is not None and p.name == self.port_name:
                return p
            if self.port_number is not None and p.port == self.port_number:
                return p
        return None


class Resolver:
    def __init__(self) -> None:
        core = k8s.coreV1()
        net = k8s.networkingV1()
        ingresses, services, pods = k8s.parallel([
            lambda: net.list_ingress_for_all_namespaces(),
            lambda: core.list_service_for_all_namespaces(),
            lambda: core.list_pod_for_all_namespaces(),
        ])
        for r in (ingresses, services, pods):
            if isinstance(r, Exception):
                raise r
        self.ingresses = ingresses.items
        self.services: Dict[Tuple[str, str], Any] = {
            (s.metadata.namespace, s.metadata.name): s for s in services.items
        }
        self.pods: List[Any] = pods.items

    def selected(self, service: Any) -> List[Any]:
        sel = dict(service.spec.selector or {})
        if not sel:
            return []
        return [
            p for p in self.pods
            if p.metadata.namespace == service.metadata.namespace
            and sel.items() <= dict(p.metadata.labels or {}).items()
        ]

    @staticmethod
    def is_ready(pod: Any) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions or [])

    @staticmethod
    def resolve_target(target: Any, pods: List[Any]) -> Any:
        if isinstance(target, int):
            return target
        if isinstance(target, str) and target.isdigit():
            return int(target)
        for pod in pods:
            for c in pod.spec.containers:
                for port in c.ports or []:
                    if port.name == target:
                        return port.container_port
        return target

    def describe(self, ing: Any) -> str:
        backend = Backend.from_ingress(ing)
        if backend is None:
            return "no service"
        service = self.services.get((ing.metadata.namespace, backend.service))
        if service is None:
            return "no service"
        port = backend.find_port(service)
        if port is None:
            return "no port"
        pods = self.selected(service)
        target = self.resolve_target(port.target_port if port.target_port is not None else port.port, pods)
        ready = sum(1 for p in pods if self.is_ready(p))
        return f"{port.port}->{target} x{ready}"


def main() -> Dict[str, str]:
    r = Resolver()
    return {f"{i.metadata.namespace}/{i.metadata.name}": r.describe(i) for i in r.ingresses}


if __name__ == "__main__":
    result = main()

result
