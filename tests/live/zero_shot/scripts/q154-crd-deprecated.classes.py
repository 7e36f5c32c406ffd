# question: q154-crd-deprecated · style: classes · author: an API governance engineer
from dataclasses import dataclass


@dataclass
class CrdVersion:
    name: str
    served: bool
    deprecated: bool

    @property
    def flagged(self) -> bool:
        return self.served and self.deprecated


@dataclass
class Crd:
    name: str
    versions: list[CrdVersion]

    @classmethod
    def parse(cls, obj) -> "Crd":
        return cls(obj.metadata.name,
                   [CrdVersion(v.name, bool(v.served), bool(v.deprecated)) for v in obj.spec.versions])

    def deprecated_versions(self) -> list[str]:
        return sorted(v.name for v in self.versions if v.flagged)


crds = [Crd.parse(o) for o in k8s.apiextensionsV1().list_custom_resource_definition().items]
{c.name: c.deprecated_versions() for c in crds if c.deprecated_versions()}
