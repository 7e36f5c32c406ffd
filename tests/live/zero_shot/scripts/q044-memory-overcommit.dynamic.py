# question: q044-memory-overcommit · style: dynamic · author: a cluster operator
from kubernetes.utils.quantity import parse_quantity

limits = {}
for pod in k8s.get("pods").items:
    if pod.status.phase in ("Succeeded", "Failed") or not pod.spec.nodeName:
        continue
    for c in pod.spec.containers:
        if c.resources and c.resources.limits and c.resources.limits.memory:
            limits[pod.spec.nodeName] = limits.get(pod.spec.nodeName, 0) + parse_quantity(c.resources.limits.memory)

sorted(n.metadata.name for n in k8s.get("nodes").items
       if limits.get(n.metadata.name, 0) > parse_quantity(n.status.allocatable.memory))
