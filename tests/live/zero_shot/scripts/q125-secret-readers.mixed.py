# question: q125-secret-readers · style: mixed · author: an RBAC auditor
rbac = k8s.rbacV1()

def hit(values, *wanted):
    return not set(values).isdisjoint(wanted)

risky = {
    r.metadata.name
    for r in rbac.list_cluster_role()
    if any(hit(x.api_groups, "", "*") and hit(x.resources, "secrets", "*") and hit(x.verbs, "get", "list", "*")
           and not x.resource_names for x in r.rules)
}
sorted({
    f"{s.namespace}/{s.name}"
    for b in rbac.list_cluster_role_binding()
    if b.role_ref.kind == "ClusterRole" and b.role_ref.name in risky
    for s in b.subjects
    if s.kind == "ServiceAccount" and s.namespace != "kube-system"
})
