# question: q095-shop-endpoints · style: classes · author: a backend developer who models everything
from dataclasses import dataclass


@dataclass
class ServiceEndpoints:
    name: str
    ready: int = 0

    def add(self, endpoint) -> None:
        if endpoint.conditions and endpoint.conditions.ready:
            self.ready += len(endpoint.addresses)


services = {s.metadata.name: ServiceEndpoints(s.metadata.name) for s in k8s.coreV1().list_namespaced_service("shop").items}
for es in k8s.discoveryV1().list_namespaced_endpoint_slice("shop").items:
    owner = services.get((es.metadata.labels or {}).get("kubernetes.io/service-name"))
    if owner is not None:
        for ep in es.endpoints or []:
            owner.add(ep)
{s.name: s.ready for s in services.values()}
