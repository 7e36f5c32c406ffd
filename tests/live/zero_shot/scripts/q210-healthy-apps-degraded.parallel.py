apps, deps = k8s.parallel([
    lambda: k8s.get("applications.argoproj.io"),
    lambda: k8s.appsV1().list_deployment_for_all_namespaces().items,
])
for r in (apps, deps):
    if isinstance(r, Exception):
        raise r

short = defaultdict(list)
for d in deps:
    want = d.spec.replicas if d.spec.replicas is not None else 1
    if (d.status.available_replicas or 0) < want:
        short[d.metadata.namespace].append(d.metadata.name)

out = {}
for a in apps:
    if ((a.status or {}).get("health") or {}).get("status") != "Healthy":
        continue
    ns = a.spec.destination.namespace
    if short.get(ns):
        out[a.metadata.name] = sorted(short[ns])
out
