# question: q172-young-namespaces · style: classes · author: a developer with total ordering habits
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone


@dataclass(frozen=True, slots=True)
class Ns:
    name: str
    created: datetime

    @property
    def age(self) -> timedelta:
        return datetime.now(tz=timezone.utc) - self.created

    def younger_than(self, **kw) -> bool:
        return self.age < timedelta(**kw)


all_ns = (Ns(n.metadata.name, n.metadata.creation_timestamp) for n in k8s.coreV1().list_namespace().items)
young = [n for n in all_ns if n.younger_than(days=7)]
[n.name for n in sorted(young, key=lambda n: n.created, reverse=True)]
