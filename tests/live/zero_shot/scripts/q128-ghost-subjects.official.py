# question: q128-ghost-subjects · style: official · author: an identity engineer
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()
rbac = client.RbacAuthorizationV1Api()

existing = {(sa.metadata.namespace, sa.metadata.name) for sa in v1.list_service_account_for_all_namespaces().items}
bindings = rbac.list_role_binding_for_all_namespaces().items + rbac.list_cluster_role_binding().items

ghosts = set()
for binding in bindings:
    for subject in binding.subjects or []:
        if subject.kind != "ServiceAccount":
            continue
        ns = subject.namespace or binding.metadata.namespace
        if ns == "kube-system":
            continue
        if (ns, subject.name) not in existing:
            ghosts.add(f"{ns}/{subject.name}")
sorted(ghosts)
