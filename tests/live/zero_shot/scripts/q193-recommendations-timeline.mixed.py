ns, name = "shop", "recommendations"

deploy = k8s.appsV1().read_namespaced_deployment(name, ns)

def controlled_by(obj, uids):
    refs = obj.metadata.get("ownerReferences", [])
    return any(r.get("controller") and r["uid"] in uids for r in refs)

rs = [r for r in k8s.get("replicasets", namespace=ns) if controlled_by(r, {deploy.metadata.uid})]
rs_uids = {r.metadata.uid for r in rs}
pods = [p for p in k8s.get("pods", namespace=ns) if controlled_by(p, rs_uids)]

wanted = {f"Deployment/{name}"}
wanted |= {f"ReplicaSet/{r.metadata.name}" for r in rs}
wanted |= {f"Pod/{p.metadata.name}" for p in pods}

rows = []
for ev in k8s.coreV1().list_namespaced_event(ns).items:
    io = ev["involvedObject"]
    key = f"{io['kind']}/{io['name']}"
    if key not in wanted:
        continue
    rows.append((ev.get("lastTimestamp") or "", key, ev.reason, getattr(ev, "count", None) or 1))

rows.sort(key=lambda r: r[:3])
[[key, reason, int(count)] for _, key, reason, count in rows]
