v1 = k8s.coreV1()
pods = defaultdict(list)
for p in v1.list_pod_for_all_namespaces().items:
    pods[p.metadata.namespace].append(p)

result = {}
for svc in v1.list_service_for_all_namespaces().items:
    sel = svc.spec.get("selector")
    if not sel:
        continue
    ns = svc.metadata.namespace
    matched = [p for p in pods[ns] if all((p.metadata.labels or {}).get(k) == v for k, v in sel.items())]
    if not matched:
        continue
    numbers, names = set(), set()
    for p in matched:
        for c in p.spec.containers:
            for port in c.get("ports", []) or []:
                numbers.add(port.container_port)
                if getattr(port, "name", None):
                    names.add(port["name"])
    missing = set()
    for sp in svc.spec.ports or []:
        target = sp.get("targetPort") or sp.port
        ok = target in numbers if isinstance(target, int) else target in names
        if not ok:
            missing.add(str(target))
    if missing:
        result[f"{ns}/{svc.metadata.name}"] = sorted(missing)
result
