# question: q052-gpu-squatters · style: mixed · author: an ML platform engineer
GPU = "nvidia.com/gpu"
core = k8s.coreV1()
nodes, pods = k8s.parallel([lambda: core.list_node(), lambda: core.list_pod_for_all_namespaces()])

gpu_nodes = {n.metadata.name for n in nodes if quantity(n.status.allocatable.get(GPU, "0")) > 0}

def wants_gpu(p):
    return any(quantity((c.resources.requests or {}).get(GPU) or (c.resources.limits or {}).get(GPU) or "0") > 0
               for c in [*p.spec.containers, *p.spec.init_containers])

sorted(
    f"{p.metadata.namespace}/{p.metadata.name}"
    for p in pods
    if p.spec.node_name in gpu_nodes
    and p.status.phase == "Running"
    and not any(o.kind == "DaemonSet" for o in p.metadata.owner_references)
    and not wants_gpu(p)
)
