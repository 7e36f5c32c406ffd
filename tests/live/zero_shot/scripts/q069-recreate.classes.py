# question: q069-recreate · style: classes · author: a backend developer who models everything
from enum import Enum


class Strategy(str, Enum):
    ROLLING = "RollingUpdate"
    RECREATE = "Recreate"


class DeploymentView:
    def __init__(self, raw):
        self._raw = raw

    @property
    def path(self):
        return f"{self._raw.metadata.namespace}/{self._raw.metadata.name}"

    @property
    def strategy(self):
        return Strategy(self._raw.spec.strategy.type)


views = [DeploymentView(d) for d in k8s.appsV1().list_deployment_for_all_namespaces().items]
sorted(v.path for v in views if v.strategy == Strategy.RECREATE)
