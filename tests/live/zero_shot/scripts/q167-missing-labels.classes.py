# question: q167-missing-labels · style: classes · author: a backend developer who models everything
from enum import Enum


class Required(str, Enum):
    NAME = "app.kubernetes.io/name"
    VERSION = "app.kubernetes.io/version"
    TEAM = "team"

    @classmethod
    def missing_from(cls, labels):
        return sorted(m.value for m in cls if m.value not in labels)


report = {}
for d in k8s.appsV1().list_deployment_for_all_namespaces().items:
    missing = Required.missing_from(d.metadata.labels or {})
    if missing:
        report[f"{d.metadata.namespace}/{d.metadata.name}"] = missing
report
