import math
from itertools import chain

pods = k8s.coreV1().list_pod_for_all_namespaces().items
metrics = k8s.metricsV1beta1().list_pod_metrics_for_all_namespaces().items

usage = dict(chain.from_iterable(
    map(lambda c: ((m.metadata.namespace, m.metadata.name, c.name), quantity(c.usage["memory"])), m.containers)
    for m in metrics
))

limits = chain.from_iterable(
    map(
        lambda c: ((p.metadata.namespace, p.metadata.name, c.name), ((c.resources and c.resources.limits) or {}).get("memory")),
        chain(p.spec.containers, p.spec.init_containers or []),
    )
    for p in pods
)

percents = sorted(map(
    lambda kv: usage[kv[0]] / quantity(kv[1]) * 100,
    filter(lambda kv: kv[1] and kv[0] in usage, limits),
))


def nearest_rank(values, p):
    # integer arithmetic avoids float trouble in ceil
    rank = max(1, -(-p * len(values) // 100))
    return round(values[rank - 1], 1)


{f"p{p}": nearest_rank(percents, p) for p in (50, 90, 99)} if percents else {}
