# question: q136-secrets-referenced · style: classes · author: a cautious security reviewer
class SecretCollector:
    """Collects the names of the Secrets a pod spec refers to."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def _add(self, name) -> None:
        if name:
            self.names.add(name)

    def visit_container(self, container) -> None:
        for env in container.env or []:
            if env.value_from and env.value_from.secret_key_ref:
                self._add(env.value_from.secret_key_ref.name)
        for src in container.env_from or []:
            if src.secret_ref:
                self._add(src.secret_ref.name)

    def visit_volume(self, volume) -> None:
        if volume.secret:
            self._add(volume.secret.secret_name)
        if volume.projected:
            for source in volume.projected.sources or []:
                if source.secret:
                    self._add(source.secret.name)

    def visit(self, pod) -> None:
        spec = pod.spec
        for c in (spec.init_containers or []) + spec.containers:
            self.visit_container(c)
        for v in spec.volumes or []:
            self.visit_volume(v)
        for ref in spec.image_pull_secrets or []:
            self._add(ref.name)


def main() -> list[str]:
    collector = SecretCollector()
    for pod in k8s.coreV1().list_namespaced_pod("payments").items:
        collector.visit(pod)
    return sorted(collector.names)


if __name__ == "__main__":
    main()
