# question: q031-cpu-requests-by-namespace · style: functional · author: a data scientist fond of itertools
from itertools import groupby
from kubernetes.utils import parse_quantity

live = filter(lambda p: p.status.phase not in {"Succeeded", "Failed"},
              k8s.coreV1().list_pod_for_all_namespaces().items)
cpu = lambda p: sum(parse_quantity(((c.resources.requests if c.resources else None) or {}).get("cpu", "0"))
                    for c in p.spec.containers)
ns = lambda p: p.metadata.namespace

sums = {n: sum(map(cpu, g)) for n, g in groupby(sorted(live, key=ns), key=ns)}
{n: round(float(s), 3) for n, s in sums.items() if s > 0}
