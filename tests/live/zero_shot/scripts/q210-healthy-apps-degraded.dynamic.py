apps = k8s.dynamic().resources.get(api_version="argoproj.io/v1alpha1", kind="Application").get()
deployments = k8s.get("deployments.apps")

degraded = defaultdict(list)
for d in deployments:
    want = d.spec.replicas if d.spec.replicas is not None else 1
    if (d.status.availableReplicas or 0) < want:
        degraded[d.metadata.namespace].append(d.metadata.name)

out = {}
for app in apps.items:
    health = app.get("status", {}).get("health", {}).get("status")
    dest = app.get("spec", {}).get("destination", {}).get("namespace")
    if health == "Healthy" and degraded.get(dest):
        out[app.metadata.name] = sorted(degraded[dest])
out
