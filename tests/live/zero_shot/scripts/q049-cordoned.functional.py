# question: q049-cordoned · style: functional · author: a Lisp programmer
from functools import reduce

core = k8s.coreV1()
cordoned = [n.metadata.name for n in core.list_node().items if n.spec.unschedulable]
running = core.list_pod_for_all_namespaces(field_selector="status.phase=Running").items

reduce(
    lambda acc, p: {**acc, p.spec.node_name: acc[p.spec.node_name] + 1} if p.spec.node_name in acc else acc,
    running,
    dict.fromkeys(cordoned, 0),
)
