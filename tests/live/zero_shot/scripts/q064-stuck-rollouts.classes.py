# question: q064-stuck-rollouts · style: classes · author: an SRE with a taste for enums
from enum import Enum


class Rollout(Enum):
    STUCK = "stuck"
    FINE = "fine"


class DeploymentView:
    def __init__(self, d):
        self.d = d
        self.progressing = next((c for c in d.status.conditions or [] if c.type == "Progressing"), None)

    @property
    def state(self) -> Rollout:
        c = self.progressing
        if c and c.status == "False" and c.reason == "ProgressDeadlineExceeded":
            return Rollout.STUCK
        return Rollout.FINE

    def __str__(self):
        return f"{self.d.metadata.namespace}/{self.d.metadata.name}"


views = map(DeploymentView, k8s.appsV1().list_deployment_for_all_namespaces().items)
{str(v): v.progressing.message for v in views if v.state is Rollout.STUCK}
