# question: q171-default-sa-bindings · style: dynamic · author: an operator developer used to the DynamicClient
rb_api = k8s.dynamic().resources.get(api_version="rbac.authorization.k8s.io/v1", kind="RoleBinding")
hits = set()
for rb in rb_api.get().items:
    for s in rb.subjects or []:
        if s.kind == "ServiceAccount" and s.name == "default":
            hits.add(f"{rb.metadata.namespace}/{rb.metadata.name}")
sorted(hits)
