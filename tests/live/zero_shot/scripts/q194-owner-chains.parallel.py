core, apps, batch = k8s.coreV1(), k8s.appsV1(), k8s.batchV1()

kinds = ["Pod", "ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Node"]
lists = k8s.parallel([
    lambda: core.list_pod_for_all_namespaces(),
    lambda: apps.list_replica_set_for_all_namespaces(),
    lambda: apps.list_deployment_for_all_namespaces(),
    lambda: apps.list_stateful_set_for_all_namespaces(),
    lambda: apps.list_daemon_set_for_all_namespaces(),
    lambda: batch.list_job_for_all_namespaces(),
    lambda: batch.list_cron_job_for_all_namespaces(),
    lambda: core.list_node(),
])
for kind, l in zip(kinds, lists):
    if isinstance(l, Exception):
        raise l

by_uid = {}
for kind, l in zip(kinds, lists):
    for o in l.items:
        by_uid[(kind, o.metadata.uid)] = o

def controller(o):
    return next((r for r in (o.metadata.owner_references or []) if r.controller), None)

def chain(pod):
    parts = ["Pod"]
    cur = pod
    while True:
        ref = controller(cur)
        if ref is None:
            break
        owner = by_uid.get((ref.kind, ref.uid))
        if owner is None:
            parts.append(ref.kind + "?")
            break
        parts.append(ref.kind)
        cur = owner
    return " > ".join(parts)

dict(Counter(chain(p) for p in lists[0].items))
