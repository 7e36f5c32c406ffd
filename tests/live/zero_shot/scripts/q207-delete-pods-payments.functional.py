from itertools import chain

NS = "payments"
rbac = k8s.rbacV1()

roles = dict(map(lambda r: (("Role", r.metadata.name), r), rbac.list_namespaced_role(NS).items))
roles.update(map(lambda r: (("ClusterRole", r.metadata.name), r), rbac.list_cluster_role().items))

has = lambda values, *wanted: any(map(lambda w: w in (values or []), wanted))


def grants(rule):
    return (
        has(rule.api_groups, "", "*")
        and has(rule.resources, "pods", "*")
        and has(rule.verbs, "delete", "*")
        and not rule.resource_names
    )


def can_delete(binding):
    role = roles.get((binding.role_ref.kind, binding.role_ref.name))
    return role is not None and any(map(grants, role.rules or []))


bindings = chain(
    rbac.list_namespaced_role_binding(NS).items,
    rbac.list_cluster_role_binding().items,
)

subjects = chain.from_iterable(map(lambda b: b.subjects or [], filter(can_delete, bindings)))

keep = lambda s: not s.name.startswith("system:") and not (s.kind == "ServiceAccount" and s.namespace == "kube-system")
show = lambda s: f"{s.kind}:{s.namespace or NS}/{s.name}" if s.kind == "ServiceAccount" else f"{s.kind}:{s.name}"

sorted(set(map(show, filter(keep, subjects))))
