# question: q155-crd-empty · style: dynamic · author: an operator developer used to the DynamicClient
dyn = k8s.dynamic()
crds = dyn.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition").get()
empty = []
for crd in crds.items:
    version = next(v.name for v in crd.spec.versions if v.storage)
    api = dyn.resources.get(api_version=f"{crd.spec.group}/{version}", kind=crd.spec.names.kind)
    if len(api.get().items) == 0:
        empty.append(crd.metadata.name)
sorted(empty)
