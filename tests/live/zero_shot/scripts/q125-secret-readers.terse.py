# question: q125-secret-readers · style: terse · author: a security engineer in a hurry
r = k8s.rbacV1()
hit = lambda xs, *ys: bool({*(xs or [])} & {*ys})
roles = {c.metadata.name for c in r.list_cluster_role().items if any(hit(x.api_groups, "", "*") and hit(x.resources, "secrets", "*") and hit(x.verbs, "get", "list", "*") and not x.resource_names for x in c.rules or [])}
sorted({f"{s.namespace}/{s.name}" for b in r.list_cluster_role_binding().items if b.role_ref.name in roles for s in b.subjects or [] if s.kind == "ServiceAccount" and s.namespace != "kube-system"})
