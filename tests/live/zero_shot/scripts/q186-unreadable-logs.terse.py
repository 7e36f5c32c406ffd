v1 = k8s.coreV1()
refs = [(p.metadata.name, c.name) for p in v1.list_namespaced_pod("shop") for c in p.spec.containers]
res = k8s.parallel([lambda p=p, c=c: v1.read_namespaced_pod_log(p, "shop", container=c, tail_lines=1) for p, c in refs])
{f"{p}/{c}": r.status for (p, c), r in zip(refs, res) if isinstance(r, Exception)}
