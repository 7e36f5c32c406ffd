# question: q043-free-pod-slots · style: dynamic · author: a capacity planner
nodes = k8s.get("nodes")
pods = k8s.get("pods")

bound = {}
for p in pods.items:
    if p.spec.nodeName and p.status.phase not in ("Succeeded", "Failed"):
        bound[p.spec.nodeName] = bound.get(p.spec.nodeName, 0) + 1

{n.metadata.name: int(n.status.allocatable["pods"]) - bound.get(n.metadata.name, 0) for n in nodes.items}
