# question: q128-ghost-subjects · style: mixed · author: a security engineer
from itertools import chain

rbac = k8s.rbacV1()
sas, rbs, crbs = k8s.parallel([
    lambda: k8s.coreV1().list_service_account_for_all_namespaces(),
    lambda: rbac.list_role_binding_for_all_namespaces(),
    lambda: rbac.list_cluster_role_binding(),
])
known = {(s.metadata.namespace, s.metadata.name) for s in sas}
ghosts = {
    (s.namespace or b.metadata.namespace, s.name)
    for b in chain(rbs, crbs)
    for s in b.subjects
    if s.kind == "ServiceAccount"
}
sorted("/".join(g) for g in ghosts - known if g[0] != "kube-system")
