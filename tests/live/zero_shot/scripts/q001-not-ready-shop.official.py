# question: q001-not-ready-shop · style: official · author: a platform engineer who knows the Python client by heart
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()


def is_ready(pod) -> bool:
    for cond in pod.status.conditions or []:
        if cond.type == "Ready":
            return cond.status == "True"
    return False


pods = v1.list_namespaced_pod(namespace="shop").items
not_ready = [p for p in pods if p.status.phase != "Succeeded" and not is_ready(p)]
len(not_ready)
