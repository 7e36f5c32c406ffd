# question: q036-missing-sidecar · style: mixed · author: a mesh administrator
v1 = k8s.coreV1()
namespaces = [n.metadata.name for n in v1.list_namespace(label_selector="istio-injection=enabled")]
lists = k8s.parallel([lambda ns=ns: v1.list_namespaced_pod(ns) for ns in namespaces])

missing = []
for ns, pods in zip(namespaces, lists):
    for pod in pods:
        if pod.status.phase in {"Succeeded", "Failed"}:
            continue
        if not any(c.name == "istio-proxy" for c in pod.spec.containers):
            missing.append(f"{ns}/{pod.metadata.name}")
sorted(missing)
