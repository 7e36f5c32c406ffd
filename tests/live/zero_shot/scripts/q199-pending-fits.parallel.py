core = k8s.coreV1()
nodes, pods = k8s.parallel([
    lambda: core.list_node(),
    lambda: core.list_pod_for_all_namespaces(),
])

def cond(o, t):
    return next((c for c in (o.status.conditions or []) if c.type == t), None)

def requests(pod):
    out = defaultdict(float)
    for c in pod.spec.containers:
        for r, q in ((c.resources and c.resources.requests) or {}).items():
            out[r] += quantity(q)
    return out

def tolerated(taint, tols):
    for t in tols or []:
        op = t.operator or "Equal"
        key_ok = (t.key or "") == taint.key or (not t.key and op == "Exists")
        eff_ok = not t.effect or t.effect == taint.effect
        val_ok = op == "Exists" or (t.value or "") == (taint.value or "")
        if key_ok and eff_ok and val_ok:
            return True
    return False

used = defaultdict(lambda: defaultdict(float))
for p in pods.items:
    if p.spec.node_name and p.status.phase not in ("Succeeded", "Failed"):
        for r, v in requests(p).items():
            used[p.spec.node_name][r] += v

def fits(pod, node):
    ready = cond(node, "Ready")
    if not ready or ready.status != "True" or node.spec.unschedulable:
        return False
    for taint in node.spec.taints or []:
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerated(taint, pod.spec.tolerations):
            return False
    for r, want in requests(pod).items():
        free = quantity(node.status.allocatable.get(r, "0")) - used[node.metadata.name][r]
        if free + 1e-9 < want:
            return False
    return True

result = {}
for p in pods.items:
    s = cond(p, "PodScheduled")
    if s and s.status == "False":
        result[f"{p.metadata.namespace}/{p.metadata.name}"] = sorted(n.metadata.name for n in nodes.items if fits(p, n))
result
