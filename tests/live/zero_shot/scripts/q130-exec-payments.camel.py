# question: q130-exec-payments · style: camel · author: a security engineer coming from JS
rbac = k8s.rbacV1()
roles = {r["metadata"]["name"]: r.get("rules", []) for r in rbac.listNamespacedRole(namespace="payments")["items"]}
clusterRoles = {r["metadata"]["name"]: r.get("rules", []) for r in rbac.listClusterRole()["items"]}

def allowsExec(rule):
    groups = rule.get("apiGroups", [])
    resources = rule.get("resources", [])
    verbs = rule.get("verbs", [])
    return (("" in groups or "*" in groups)
            and ("pods/exec" in resources or "*" in resources)
            and ("create" in verbs or "*" in verbs))

who = set()
for rb in rbac.listNamespacedRoleBinding(namespace="payments")["items"]:
    ref = rb["roleRef"]
    rules = (roles if ref["kind"] == "Role" else clusterRoles).get(ref["name"]) or []
    if any(allowsExec(r) for r in rules):
        for s in rb.get("subjects", []):
            who.add(f"{s['kind']}:{s['name']}")
sorted(who)
