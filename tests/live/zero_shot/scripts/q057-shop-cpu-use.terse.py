# question: q057-shop-cpu-use · style: terse · author: an SRE who likes compact code
ns = "shop"
ctrl = lambda o, kind: next((r.name for r in o.metadata.owner_references or [] if r.kind == kind and r.controller), None)
rs = {r.metadata.name: d for r in k8s.appsV1().list_namespaced_replica_set(ns).items if (d := ctrl(r, "Deployment"))}
m = {x.metadata.name: sum(quantity(c.usage.cpu) for c in x.containers) for x in k8s.metricsV1beta1().list_namespaced_pod_metrics(ns).items}
res = {}
for p in k8s.coreV1().list_namespaced_pod(ns).items:
    if p.metadata.name in m and (d := rs.get(ctrl(p, "ReplicaSet"))):
        e = res.setdefault(d, [0, 0])
        e[0] += m[p.metadata.name] * 1000
        e[1] += sum(quantity(c.resources.requests.get("cpu", "0")) for c in p.spec.containers) * 1000
{d: [round(u), round(r)] for d, (u, r) in res.items()}
