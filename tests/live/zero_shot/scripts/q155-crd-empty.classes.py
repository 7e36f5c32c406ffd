# question: q155-crd-empty · style: classes · author: an API inventory author
from dataclasses import dataclass

from kubernetes.client.exceptions import ApiException


@dataclass
class CustomResource:
    crd: str
    group: str
    version: str
    plural: str

    @classmethod
    def of(cls, crd):
        storage = next(v.name for v in crd.spec.versions if v.storage)
        return cls(crd.metadata.name, crd.spec.group, storage, crd.spec.names.plural)

    def is_empty(self) -> bool:
        try:
            objs = k8s.customObjects().list_cluster_custom_object(self.group, self.version, self.plural, limit=1)
        except ApiException as e:
            print(f"{self.crd}: {e.status} {e.reason}")
            return False
        return len(objs["items"]) == 0


resources = [CustomResource.of(c) for c in k8s.apiextensionsV1().list_custom_resource_definition().items]
sorted(r.crd for r in resources if r.is_empty())
