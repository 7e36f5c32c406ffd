from kubernetes import client, dynamic
from kubernetes.client import api_client
from kubernetes.dynamic.exceptions import ResourceNotFoundError, NotFoundError

dyn = dynamic.DynamicClient(api_client.ApiClient())

crd_api = dyn.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")

lines = []
for crd in sorted(crd_api.get().items, key=lambda c: c.metadata.name):
    storage = next(v.name for v in crd.spec.versions if v.storage)
    served = sorted(v.name for v in crd.spec.versions if v.served)
    try:
        res = dyn.resources.get(api_version=f"{crd.spec.group}/{storage}", kind=crd.spec.names.kind)
        count = len(res.get().items)
    except (ResourceNotFoundError, NotFoundError) as e:
        print(f"{crd.metadata.name}: {e}")
        count = 0
    lines.append(f"{crd.metadata.name} | {storage} | {','.join(served)} | {count}")

"\n".join(lines)
