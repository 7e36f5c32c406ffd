# question: q137-missing-service-accounts · style: classes · author: a Go developer writing Python
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class NamespacedName:
    namespace: str
    name: str

    def __str__(self):
        return f"{self.namespace}/{self.name}"


def existing() -> set[NamespacedName]:
    return {NamespacedName(s.metadata.namespace, s.metadata.name)
            for s in k8s.coreV1().list_service_account_for_all_namespaces().items}


def used() -> set[NamespacedName]:
    return {NamespacedName(p.metadata.namespace, p.spec.service_account_name)
            for p in k8s.coreV1().list_pod_for_all_namespaces().items
            if p.spec.service_account_name}


def main() -> list[str]:
    return [str(n) for n in sorted(used() - existing())]


if __name__ == "__main__":
    main()
