# question: q062-ephemeral-storage · style: dynamic · author: a disk-pressure investigator
dyn = k8s.dynamic()
pods = dyn.resources.get(api_version="v1", kind="Pod").get()

per_node = {}
for pod in pods.items:
    if pod.status.phase in ("Succeeded", "Failed"):
        continue
    node = pod.spec.nodeName
    if not node:
        continue
    for c in pod.spec.containers:
        requests = (c.resources.requests if c.resources else None) or {}
        amount = requests["ephemeral-storage"] if "ephemeral-storage" in requests else None
        if amount:
            per_node[node] = per_node.get(node, 0) + quantity(amount)
{n: round(b / 2**30, 2) for n, b in per_node.items() if b > 0}
