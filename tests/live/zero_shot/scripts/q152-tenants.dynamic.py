# question: q152-tenants · style: dynamic · author: a platform developer
tenant_api = k8s.dynamic().resources.get(api_version="platform.example.com/v1", kind="Tenant")
ns_api = k8s.dynamic().resources.get(api_version="v1", kind="Namespace")

existing = {n.metadata.name for n in ns_api.get().items}
report = {}
for t in tenant_api.get().items:
    missing = sorted(set(t.spec.namespaces or []) - existing)
    if missing:
        report[t.metadata.name] = missing
report
