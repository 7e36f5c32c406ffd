# question: q056-over-memory-request · style: official · author: a metrics user with CustomObjectsApi
from kubernetes import client, config
from kubernetes.utils import parse_quantity

config.load_kube_config()
v1 = client.CoreV1Api()
custom = client.CustomObjectsApi()

requests = {}
for pod in v1.list_pod_for_all_namespaces().items:
    for c in pod.spec.containers:
        req = (c.resources.requests or {}).get("memory") if c.resources else None
        if req:
            requests[f"{pod.metadata.namespace}/{pod.metadata.name}/{c.name}"] = parse_quantity(req)

over = []
pod_metrics = custom.list_cluster_custom_object(group="metrics.k8s.io", version="v1beta1", plural="pods")
for m in pod_metrics.get("items", []):
    for c in m["containers"]:
        key = f"{m['metadata']['namespace']}/{m['metadata']['name']}/{c['name']}"
        if key in requests and parse_quantity(c["usage"]["memory"]) > requests[key]:
            over.append(key)
sorted(over)
