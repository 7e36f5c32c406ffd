# question: q053-untolerated-taints · style: terse · author: an SRE who likes compact code
v1 = k8s.coreV1()
nodes = v1.list_node().items
tol = lambda t, x: ((t.key or "") == x.key or (not t.key and t.operator == "Exists")) and (not t.effect or t.effect == x.effect) and (t.operator == "Exists" or (t.value or "") == (x.value or ""))
{f"{p.metadata.namespace}/{p.metadata.name}": sorted(n.metadata.name for n in nodes if any(
    x.effect in ("NoSchedule", "NoExecute") and not any(tol(t, x) for t in p.spec.tolerations or []) for x in n.spec.taints or []))
 for p in v1.list_pod_for_all_namespaces().items
 if any(c.type == "PodScheduled" and c.status == "False" for c in p.status.conditions or [])}
