# question: q071-mixed-replicasets · style: mixed · author: a rollout watcher
active = Counter()
for rs in k8s.appsV1().list_replica_set_for_all_namespaces():
    if (rs.spec.replicas or 0) > 0 and (o := next((r for r in rs.metadata.owner_references if r.kind == "Deployment"), None)):
        active[f"{rs.metadata.namespace}/{o.name}"] += 1
{k: n for k, n in active.items() if n > 1}
