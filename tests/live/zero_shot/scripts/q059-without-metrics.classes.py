# question: q059-without-metrics · style: classes · author: a backend developer who models everything
from typing import NamedTuple


class Key(NamedTuple):
    namespace: str
    name: str

    @classmethod
    def of(cls, obj):
        return cls(obj.metadata.namespace, obj.metadata.name)

    def __str__(self):
        return f"{self.namespace}/{self.name}"


measured = {Key.of(m) for m in k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces().items}
running = {Key.of(p) for p in k8s.coreV1().list_pod_for_all_namespaces().items if p.status.phase == "Running"}
sorted(str(k) for k in running - measured)
