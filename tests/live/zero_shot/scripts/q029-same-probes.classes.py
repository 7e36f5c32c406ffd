# question: q029-same-probes · style: classes · author: a reviewer of probes
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True)
class HttpProbe:
    path: Optional[str]
    port: Any

    @classmethod
    def of(cls, probe) -> Optional["HttpProbe"]:
        if probe is None or probe.http_get is None:
            return None
        return cls(path=probe.http_get.path, port=probe.http_get.port)


same: list[str] = []
for d in k8s.appsV1().list_namespaced_deployment("shop").items:
    for c in d.spec.template.spec.containers:
        live, ready = HttpProbe.of(c.liveness_probe), HttpProbe.of(c.readiness_probe)
        if live is not None and live == ready:
            same.append(f"{d.metadata.name}/{c.name}")
sorted(same)
