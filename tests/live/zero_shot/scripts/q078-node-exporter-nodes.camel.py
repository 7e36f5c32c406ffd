# question: q078-node-exporter-nodes · style: camel · author: a TypeScript developer
core = k8s.coreV1()
ds = k8s.appsV1().readNamespacedDaemonSet("node-exporter", "monitoring")
covered = set()
for pod in core.listNamespacedPod("monitoring")["items"]:
    for ref in pod["metadata"].get("ownerReferences", []):
        if ref["kind"] == "DaemonSet" and ref["uid"] == ds["metadata"]["uid"]:
            covered.add(pod["spec"].get("nodeName"))
sorted(n["metadata"]["name"] for n in core.listNode()["items"] if n["metadata"]["name"] not in covered)
