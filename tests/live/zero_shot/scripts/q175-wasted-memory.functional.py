# question: q175-wasted-memory · style: functional · author: a data engineer
from collections import defaultdict
from functools import reduce
from heapq import nlargest

MI = 1 << 20
owner = lambda o, kind: next((r.name for r in o.metadata.owner_references or [] if r.kind == kind), None)
ident = lambda o: (o.metadata.namespace, o.metadata.name)

deploy_of = {ident(rs): owner(rs, "Deployment") for rs in k8s.appsV1().list_replica_set_for_all_namespaces().items}
used = {ident(m): sum(quantity(c.usage["memory"]) for c in m.containers)
        for m in k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces().items}
requested = lambda p: sum(quantity((c.resources.requests or {}).get("memory", "0")) for c in p.spec.containers)


def add(acc, p):
    d = deploy_of.get((p.metadata.namespace, owner(p, "ReplicaSet")))
    if d and ident(p) in used:
        acc[f"{p.metadata.namespace}/{d}"] += requested(p) - used[ident(p)]
    return acc


waste = reduce(add, k8s.coreV1().list_pod_for_all_namespaces().items, defaultdict(float))
[[k, round(v / MI)] for k, v in nlargest(3, waste.items(), key=lambda kv: kv[1])]
