# CPU and memory that running pods request, as a share of what each node can give, and the node's bad conditions.
from kubernetes.utils import parse_quantity

requested = {}
for pod in k8s.coreV1().list_pod_for_all_namespaces(field_selector="status.phase=Running"):
    total = requested.setdefault(pod.spec.node_name, {"cpu": 0, "memory": 0})
    for c in pod.spec.containers:
        for what, amount in (c.resources.requests if c.resources else {}).items():
            if what in total:
                total[what] += parse_quantity(amount)

for node in k8s.coreV1().list_node():
    name, allocatable = node.metadata.name, node.status.allocatable
    share = {}
    for what, amount in requested.get(name, {"cpu": 0, "memory": 0}).items():
        available = parse_quantity(allocatable.get(what) or "0")  # a node that has just registered reports nothing
        share[what] = f"{100 * amount / available:.0f}%" if available else "?"
    bad = [f"{c.type}={c.status}" for c in node.status.conditions if (c.status == "True") != (c.type == "Ready")]
    print(name, share, "cordoned" if node.spec.unschedulable else "", *bad)
