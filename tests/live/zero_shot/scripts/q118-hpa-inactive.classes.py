# question: q118-hpa-inactive · style: classes · author: an engineer who models conditions
from dataclasses import dataclass
from typing import Optional


@dataclass
class Condition:
    type: str
    status: str
    reason: Optional[str] = None
    message: Optional[str] = None

    @property
    def is_false(self) -> bool:
        return self.status == "False"


@dataclass
class Hpa:
    namespace: str
    name: str
    conditions: list[Condition]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    def condition(self, type_: str) -> Optional[Condition]:
        return next((c for c in self.conditions if c.type == type_), None)


def load() -> list[Hpa]:
    hpas = k8s.autoscalingV2().list_horizontal_pod_autoscaler_for_all_namespaces()
    return [
        Hpa(h.metadata.namespace, h.metadata.name,
            [Condition(c.type, c.status, c.reason, c.message) for c in h.status.conditions or []])
        for h in hpas.items
    ]


{h.key: c.reason for h in load() if (c := h.condition("ScalingActive")) and c.is_false}
