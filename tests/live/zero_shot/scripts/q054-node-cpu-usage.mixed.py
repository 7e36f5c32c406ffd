# question: q054-node-cpu-usage · style: mixed · author: a platform engineer writing a small script
alloc = {n.metadata.name: quantity(n.status.allocatable["cpu"]) for n in k8s.coreV1().list_node()}
rows = [
    {"node": m.metadata.name, "pct": round(100 * quantity(m.usage["cpu"]) / alloc[m.metadata.name], 1)}
    for m in k8s.metricsV1beta1().list_node_metrics()
    if m.metadata.name in alloc
]
[[r["node"], r["pct"]] for r in top(rows, "pct", 3)]
