import math

limits = {
    (p.metadata.namespace, p.metadata.name, c.name): quantity(c.resources.limits["memory"])
    for p in k8s.coreV1().list_pod_for_all_namespaces()
    for c in (p.spec.containers + (p.spec.init_containers or []))
    if c.resources and c.resources.limits and "memory" in c.resources.limits
}
usage = {
    (m.metadata.namespace, m.metadata.name, c.name): quantity(c.usage["memory"])
    for m in k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces()
    for c in m.containers
}

# inner join
pct = sorted(usage[k] / limits[k] * 100 for k in limits.keys() & usage.keys())
n = len(pct)

def nearest_rank(p):
    return round(pct[math.ceil(p * n / 100) - 1], 1)

{f"p{p}": nearest_rank(p) for p in (50, 90, 99)}
