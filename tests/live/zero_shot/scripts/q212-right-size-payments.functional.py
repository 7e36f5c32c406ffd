import math
from functools import reduce
from itertools import groupby

NS = "payments"
core, apps = k8s.coreV1(), k8s.appsV1()


def controller_uid(obj, kind):
    return next((r.uid for r in obj.metadata.owner_references or [] if r.controller and r.kind == kind), None)


deployments = {d.metadata.uid: d.metadata.name for d in apps.list_namespaced_deployment(NS).items}
rs_to_dep = {
    rs.metadata.uid: deployments.get(controller_uid(rs, "Deployment"))
    for rs in apps.list_namespaced_replica_set(NS).items
}

usage = {
    m.metadata.name: sum(map(lambda c: quantity(c.usage.cpu), m.containers))
    for m in k8s.metricsV1beta1().list_namespaced_pod_metrics(NS).items
}

pairs = sorted(filter(
    lambda t: t[0] is not None and t[1] is not None,
    map(
        lambda p: (rs_to_dep.get(controller_uid(p, "ReplicaSet")), usage.get(p.metadata.name)),
        core.list_namespaced_pod(NS).items,
    ),
), key=lambda t: (t[0] or "", t[1] or 0))

suggest = lambda cores: math.ceil(round(cores * 1000 * 1.2 / 10, 6)) * 10

{dep: suggest(max(map(lambda t: t[1], grp))) for dep, grp in groupby(pairs, key=lambda t: t[0])}
