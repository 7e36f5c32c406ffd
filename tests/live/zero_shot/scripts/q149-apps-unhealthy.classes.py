# question: q149-apps-unhealthy · style: classes · author: a GitOps engineer
from dataclasses import dataclass
from enum import Enum


class Sync(Enum):
    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"


@dataclass
class App:
    name: str
    sync: Sync
    health: str

    @property
    def ok(self) -> bool:
        return self.sync is Sync.SYNCED and self.health == "Healthy"


apps = [
    App(a.metadata.name, Sync(a.status.sync.status), a.status.health.status)
    for a in k8s.get("applications.argoproj.io")
]
{a.name: [a.sync.value, a.health] for a in apps if not a.ok}
