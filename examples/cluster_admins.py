# Who can do everything?
from kubernetes import client

rbac = client.RbacAuthorizationV1Api()
[
    {"binding": b.metadata.name, "subjects": [f"{s.kind}:{s.namespace or ''}/{s.name}" for s in b.subjects]}
    for b in rbac.list_cluster_role_binding().items
    if b.role_ref.name == "cluster-admin"
]
