# question: q092-services-by-type · style: official · author: a beginner following the docs
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

types = {}
services = v1.list_service_for_all_namespaces()
for svc in services.items:
    t = svc.spec.type
    if t not in types:
        types[t] = 0
    types[t] += 1
types
