# question: q065-paused · style: classes · author: a minimalist with NamedTuple
from typing import NamedTuple


class Dep(NamedTuple):
    ns: str
    name: str
    paused: bool

    @property
    def path(self):
        return "/".join(self[:2])


deps = [Dep(d.metadata.namespace, d.metadata.name, d.spec.paused or False)
        for d in k8s.appsV1().list_deployment_for_all_namespaces().items]
sorted(d.path for d in deps if d.paused)
