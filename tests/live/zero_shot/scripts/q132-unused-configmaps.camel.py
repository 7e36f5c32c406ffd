# question: q132-unused-configmaps · style: camel · author: a JavaScript developer new to Python
core = k8s.coreV1()
used = set()
for pod in core.listNamespacedPod("shop")["items"]:
    spec = pod["spec"]
    for v in spec.get("volumes", []):
        if v.get("configMap"):
            used.add(v["configMap"]["name"])
        for s in (v.get("projected") or {}).get("sources", []):
            if s.get("configMap"):
                used.add(s["configMap"]["name"])
    for c in spec.get("containers", []) + spec.get("initContainers", []):
        for ef in c.get("envFrom", []):
            used.add(ef.get("configMapRef", {}).get("name"))
        for e in c.get("env", []):
            used.add(e.get("valueFrom", {}).get("configMapKeyRef", {}).get("name"))
names = [cm["metadata"]["name"] for cm in core.listNamespacedConfigMap("shop")["items"]]
sorted(n for n in names if n not in used and n != "kube-root-ca.crt")
