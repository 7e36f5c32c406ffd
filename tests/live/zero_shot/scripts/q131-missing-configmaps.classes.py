# question: q131-missing-configmaps · style: classes · author: a backend developer who models everything
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Ref:
    namespace: str
    name: str

    def __str__(self):
        return f"{self.namespace}/{self.name}"


class PodRefs:
    def __init__(self, pod):
        self.ns = pod.metadata.namespace
        self.spec = pod.spec

    def _sources(self):
        for v in self.spec.volumes or []:
            if v.config_map:
                yield v.config_map
            if v.projected:
                for s in v.projected.sources or []:
                    if s.config_map:
                        yield s.config_map
        for c in (self.spec.containers or []) + (self.spec.init_containers or []):
            for ef in c.env_from or []:
                if ef.config_map_ref:
                    yield ef.config_map_ref
            for e in c.env or []:
                if e.value_from and e.value_from.config_map_key_ref:
                    yield e.value_from.config_map_key_ref

    def refs(self):
        return {Ref(self.ns, s.name) for s in self._sources() if not s.optional}


v1 = k8s.coreV1()
existing = {Ref(c.metadata.namespace, c.metadata.name) for c in v1.list_config_map_for_all_namespaces().items}
wanted = set()
for pod in v1.list_pod_for_all_namespaces().items:
    wanted |= PodRefs(pod).refs()
[str(r) for r in sorted(wanted - existing)]
