# question: q100-ingress-class · style: classes · author: a Kotlin developer
from typing import NamedTuple


class IngressRef(NamedTuple):
    namespace: str
    name: str
    cls: str | None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Ingresses:
    def __init__(self) -> None:
        self.api = k8s.networkingV1()

    @property
    def classes(self) -> set[str]:
        return {c.metadata.name for c in self.api.list_ingress_class().items}

    @property
    def refs(self) -> list[IngressRef]:
        return [IngressRef(i.metadata.namespace, i.metadata.name, i.spec.ingress_class_name)
                for i in self.api.list_ingress_for_all_namespaces().items]

    def dangling(self) -> dict[str, str]:
        known = self.classes
        return {str(r): r.cls for r in self.refs if r.cls and r.cls not in known}


Ingresses().dangling()
