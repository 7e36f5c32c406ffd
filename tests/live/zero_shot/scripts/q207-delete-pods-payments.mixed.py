rbac = k8s.RbacAuthorizationV1Api() if hasattr(k8s, "RbacAuthorizationV1Api") else k8s.rbacV1()
NS = "payments"

def allows(role):
    for r in role.get("rules") or []:
        if getattr(r, "resource_names", None):
            continue
        groups, res, verbs = r.get("apiGroups", []), r.get("resources", []), r.verbs
        if ({"", "*"} & set(groups)) and ({"pods", "*"} & set(res)) and ({"delete", "*"} & set(verbs)):
            return True
    return False

ok = {("ClusterRole", r.metadata.name) for r in rbac.list_cluster_role().items if allows(r)}
ok |= {("Role", r.metadata.name) for r in rbac.list_namespaced_role(NS).items if allows(r)}

bindings = rbac.list_namespaced_role_binding(NS).items + rbac.list_cluster_role_binding().items

who = set()
for b in bindings:
    if (b.role_ref.kind, b.role_ref.name) not in ok:
        continue
    for s in b.subjects or []:
        if s.name.startswith("system:"):
            continue
        if s.kind == "ServiceAccount":
            sa_ns = s.get("namespace") or b.metadata.get("namespace")
            if sa_ns == "kube-system":
                continue
            who.add(f"ServiceAccount:{sa_ns}/{s.name}")
        else:
            who.add(f"{s['kind']}:{s['name']}")
sorted(who)
