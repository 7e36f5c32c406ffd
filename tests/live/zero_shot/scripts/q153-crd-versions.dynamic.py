# question: q153-crd-versions · style: dynamic · author: an operator developer
out = {}
for crd in k8s.get("customresourcedefinitions.apiextensions.k8s.io"):
    served = sorted(v.name for v in crd.spec.versions if v.served)
    if len(served) > 1:
        out[crd.metadata.name] = served
out
