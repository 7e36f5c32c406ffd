# question: q028-no-readiness-probe · style: classes · author: a C# developer
class Workload:
    def __init__(self, raw):
        self._raw = raw

    @property
    def key(self) -> str:
        return f"{self._raw.metadata.namespace}/{self._raw.metadata.name}"

    @property
    def containers(self):
        return self._raw.spec.template.spec.containers

    def lacks_readiness(self) -> bool:
        return any(c.readiness_probe is None for c in self.containers)


class Report:
    def __init__(self, api):
        self.workloads = [Workload(d) for d in api.list_deployment_for_all_namespaces().items]

    def run(self) -> list[str]:
        return sorted(w.key for w in self.workloads if w.lacks_readiness())


Report(k8s.appsV1()).run()
