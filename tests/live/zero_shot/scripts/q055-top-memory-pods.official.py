# question: q055-top-memory-pods · style: official · author: an engineer who uses CustomObjectsApi for metrics
from kubernetes import client, config
from kubernetes.utils.quantity import parse_quantity

config.load_kube_config()
api = client.CustomObjectsApi()

metrics = api.list_cluster_custom_object("metrics.k8s.io", "v1beta1", "pods")
usage = []
for item in metrics["items"]:
    total = sum(parse_quantity(c["usage"]["memory"]) for c in item["containers"])
    usage.append([f"{item['metadata']['namespace']}/{item['metadata']['name']}", round(float(total) / (1024 * 1024), 1)])
usage.sort(key=lambda x: x[1], reverse=True)
usage[:5]
