# question: q127-dangling-rolebindings · style: official · author: a compliance engineer
from kubernetes import client, config

config.load_kube_config()
rbac = client.RbacAuthorizationV1Api()

roles = {(r.metadata.namespace, r.metadata.name) for r in rbac.list_role_for_all_namespaces().items}
cluster_roles = {r.metadata.name for r in rbac.list_cluster_role().items}

dangling = {}
for rb in rbac.list_role_binding_for_all_namespaces().items:
    ref = rb.role_ref
    if ref.kind == "Role":
        exists = (rb.metadata.namespace, ref.name) in roles
    else:
        exists = ref.name in cluster_roles
    if not exists:
        dangling[f"{rb.metadata.namespace}/{rb.metadata.name}"] = f"{ref.kind}/{ref.name}"
dangling
