# question: q053-untolerated-taints · style: mixed · author: a scheduler expert
core = k8s.coreV1()
nodes, pods = k8s.parallel([core.list_node, core.list_pod_for_all_namespaces])

def tolerates(t, taint):
    op = t.operator or "Equal"
    if t.effect and t.effect != taint.effect:
        return False
    match op:
        case "Exists":
            return not t.key or t.key == taint.key
        case "Equal":
            return t.key == taint.key and (t.value or "") == (taint.value or "")
    return False

result = {}
for p in pods:
    if not any(c.type == "PodScheduled" and c.status == "False" for c in p.status.conditions):
        continue
    bad = []
    for n in nodes:
        hard = [t for t in n.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
        if any(not any(tolerates(tol, taint) for tol in p.spec.tolerations) for taint in hard):
            bad.append(n.metadata.name)
    result[f"{p.metadata.namespace}/{p.metadata.name}"] = sorted(bad)
result
