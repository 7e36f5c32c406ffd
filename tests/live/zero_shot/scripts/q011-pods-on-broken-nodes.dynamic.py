# question: q011-pods-on-broken-nodes · style: dynamic · author: an operator developer used to the DynamicClient
dyn = k8s.dynamic()
nodes = dyn.resources.get(api_version="v1", kind="Node")
pods = dyn.resources.get(api_version="v1", kind="Pod")

counts = {}
for n in nodes.get().items:
    ready = [c for c in n.status.conditions if c.type == "Ready"]
    if not ready or ready[0].status != "True":
        counts[n.metadata.name] = 0
for p in pods.get().items:
    if p.spec.nodeName in counts and p.status.phase not in ("Succeeded", "Failed"):
        counts[p.spec.nodeName] += 1
counts
