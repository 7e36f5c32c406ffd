rows = sorted(
    (
        (d.spec.replicas or 0) - (d.status.available_replicas or 0),
        f"{d.metadata.namespace}/{d.metadata.name}",
    )
    for d in k8s.appsV1().list_deployment_for_all_namespaces()
)
rows = [(missing, name) for missing, name in rows if missing >= 1]

# like rank(method="min", ascending=False)
counts = Counter(m for m, _ in rows)
rank, seen = {}, 0
for m in sorted(counts, reverse=True):
    rank[m] = seen + 1
    seen += counts[m]

sorted(([rank[m], name, m] for m, name in rows if rank[m] <= 5), key=lambda r: (r[0], r[1]))
