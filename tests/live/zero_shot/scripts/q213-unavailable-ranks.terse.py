m = {f"{d.metadata.namespace}/{d.metadata.name}": (d.spec.replicas or 0) - (d.status.available_replicas or 0) for d in k8s.appsV1().list_deployment_for_all_namespaces()}
rank = lambda v: 1 + sum(x > v for x in m.values())
sorted([rank(v), n, v] for n, v in m.items() if v > 0 and rank(v) <= 5)
