# question: q063-degraded-deployments · style: dynamic · author: an operator developer used to the DynamicClient
from kubernetes import client, dynamic

dyn = dynamic.DynamicClient(client.ApiClient())
api = dyn.resources.get(api_version="apps/v1", kind="Deployment")
out = {}
for d in api.get().items:
    want = d.spec.replicas
    have = d.status.availableReplicas or 0
    if have < want:
        out[f"{d.metadata.namespace}/{d.metadata.name}"] = f"{have}/{want}"
out
