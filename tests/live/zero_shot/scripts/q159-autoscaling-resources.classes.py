# question: q159-autoscaling-resources · style: classes · author: a backend developer who models everything
from dataclasses import dataclass


@dataclass(order=True)
class Resource:
    name: str
    kind: str
    namespaced: bool

    @property
    def is_subresource(self) -> bool:
        return "/" in self.name


listing = k8s.autoscalingV2().get_api_resources()
resources = [Resource(r.name, r.kind, r.namespaced) for r in listing.resources]
sorted(r.name for r in resources if not r.is_subresource)
