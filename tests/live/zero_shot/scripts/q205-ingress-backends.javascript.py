import json
core = k8s.coreV1()
clone = lambda o: json.loads(json.dumps(o))

ingresses = k8s.networkingV1().list_ingress_for_all_namespaces()["items"]
services = {f'{s["metadata"]["namespace"]}/{s["metadata"]["name"]}': s for s in clone(core.list_service_for_all_namespaces()["items"])}
pods = clone(core.list_pod_for_all_namespaces()["items"])

matches = lambda sel, labels: bool(sel) and all((labels or {}).get(k) == v for k, v in sel.items())
is_ready = lambda p: any(c["type"] == "Ready" and c["status"] == "True" for c in p["status"].get("conditions", []))
find = lambda pred, xs: next(filter(pred, xs), None)

def resolve(ing):
    ns = ing["metadata"]["namespace"]
    backend = ing["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]
    svc = services.get(f'{ns}/{backend["name"]}')
    if not svc:
        return "no service"
    want = backend["port"]
    port = find(lambda p: (p["port"] == want["number"]) if want["number"] else (p.get("name") == want["name"]), svc["spec"].get("ports", []))
    if not port:
        return "no port"
    selected = [p for p in pods if p["metadata"]["namespace"] == ns and matches(svc["spec"].get("selector"), p["metadata"].get("labels"))]
    target = port.get("targetPort", port["port"])
    if isinstance(target, str):
        hit = find(lambda cp: cp.get("name") == target,
                   [cp for p in selected for c in p["spec"]["containers"] for cp in c.get("ports", [])])
        target = hit["containerPort"] if hit else target
    n = len([p for p in selected if is_ready(p)])
    return f'{port["port"]}->{target} x{n}'

{f'{i["metadata"]["namespace"]}/{i["metadata"]["name"]}': resolve(i) for i in ingresses}
