# question: q137-missing-service-accounts · style: dynamic · author: an operator developer used to the DynamicClient
from kubernetes import client, config
from kubernetes.dynamic import DynamicClient

config.load_kube_config()
dc = DynamicClient(client.ApiClient())
sas = dc.resources.get(api_version="v1", kind="ServiceAccount").get()
pods = dc.resources.get(api_version="v1", kind="Pod").get()
have = {(s.metadata.namespace, s.metadata.name) for s in sas.items}
want = {(p.metadata.namespace, p.spec.serviceAccountName) for p in pods.items if p.spec.serviceAccountName}
sorted(f"{ns}/{name}" for ns, name in want - have)
