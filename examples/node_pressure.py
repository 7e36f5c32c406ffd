# Requested CPU and memory against what each node can give, and its bad conditions.
from kubernetes.utils import parse_quantity

asked = {}
for pod in k8s.coreV1().list_pod_for_all_namespaces(field_selector="status.phase=Running"):
    total = asked.setdefault(pod.spec.node_name, {"cpu": 0, "memory": 0})
    for c in pod.spec.containers:
        for what, amount in (c.resources.requests if c.resources else {}).items():
            if what in total:
                total[what] += parse_quantity(amount)

for node in k8s.coreV1().list_node():
    name, can = node.metadata.name, node.status.allocatable
    used = asked.get(name, {"cpu": 0, "memory": 0})
    share = {what: f"{100 * used[what] / parse_quantity(can[what]):.0f}%" for what in used}
    bad = [c.type for c in node.status.conditions if (c.status == "True") != (c.type == "Ready")]
    print(name, share, "cordoned" if node.spec.unschedulable else "", *bad)
