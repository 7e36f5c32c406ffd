import json
roles = json.loads(json.dumps([r for r in k8s.rbacV1().list_cluster_role()]))

name = lambda r: r["metadata"]["name"]
labels = lambda r: r["metadata"].get("labels", {})
selectors = lambda r: r["aggregationRule"].get("clusterRoleSelectors", [])
hits = lambda sel, r: all(labels(r).get(k) == v for k, v in sel.get("matchLabels", {}).items())

{
    name(agg): sorted(name(r) for r in roles if name(r) != name(agg) and any(hits(s, r) for s in selectors(agg)))
    for agg in filter(lambda r: r.get("aggregationRule"), roles)
}
