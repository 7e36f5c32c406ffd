# question: q056-over-memory-request · style: mixed · author: a platform engineer writing a small script
pods, metrics = k8s.parallel([
    lambda: k8s.coreV1().list_pod_for_all_namespaces(),
    lambda: k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces(),
])
requests = {
    (p.metadata.namespace, p.metadata.name, c.name): quantity(c.resources.requests["memory"])
    for p in pods
    for c in p.spec.containers
    if "memory" in c.resources.requests
}


def heavy():
    for m in metrics:
        for c in m.containers:
            key = (m.metadata.namespace, m.metadata.name, c.name)
            if key in requests and quantity(c.usage["memory"]) > requests[key]:
                yield "/".join(key)


sorted(heavy())
