# Who can do everything?
from kubernetes import client

rbac = client.RbacAuthorizationV1Api()
[
    {
        "binding": b.metadata.name,
        "subjects": [":".join(filter(None, [s.kind, s.namespace, s.name])) for s in b.subjects],
    }
    for b in rbac.list_cluster_role_binding().items
    if b.role_ref.name == "cluster-admin"
]
