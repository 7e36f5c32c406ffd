# question: q046-not-ready-since · style: classes · author: an object-minded Python developer
from dataclasses import dataclass
from datetime import datetime, timezone


@dataclass
class NodeHealth:
    name: str
    ready: bool
    since: datetime

    @staticmethod
    def of(node) -> "NodeHealth":
        cond = next(c for c in node.status.conditions if c.type == "Ready")
        return NodeHealth(node.metadata.name, cond.status == "True", cond.last_transition_time)

    @property
    def hours(self) -> int:
        delta = datetime.now(timezone.utc) - self.since
        return int(delta.total_seconds() // 3600)


healths = [NodeHealth.of(n) for n in k8s.coreV1().list_node().items]
{h.name: h.hours for h in healths if not h.ready}
