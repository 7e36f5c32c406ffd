# question: q131-missing-configmaps · style: camel · author: a meticulous config owner
core = k8s.coreV1()
existing = {(c["metadata"]["namespace"], c["metadata"]["name"]) for c in core.listConfigMapForAllNamespaces()["items"]}

def refs(spec):
    for v in spec.get("volumes", []):
        if v.get("configMap"):
            yield v["configMap"]
        for src in (v.get("projected") or {}).get("sources", []):
            if src.get("configMap"):
                yield src["configMap"]
    for c in spec.get("containers", []) + spec.get("initContainers", []):
        for e in c.get("envFrom", []):
            if e.get("configMapRef"):
                yield e["configMapRef"]
        for e in c.get("env", []):
            ref = e.get("valueFrom", {}).get("configMapKeyRef")
            if ref:
                yield ref

missing = set()
for pod in core.listPodForAllNamespaces()["items"]:
    ns = pod["metadata"]["namespace"]
    for r in refs(pod["spec"]):
        if not r.get("optional", False) and (ns, r["name"]) not in existing:
            missing.add(f"{ns}/{r['name']}")
sorted(missing)
