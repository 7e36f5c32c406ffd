v1 = k8s.coreV1()

ready_nodes = {
    n.metadata.name for n in v1.list_node().items
    if any(c["type"] == "Ready" and c["status"] == "True" for c in n.status.conditions)
}

result = {}
for pod in v1.list_pod_for_all_namespaces(field_selector="metadata.namespace!=shop").items:
    ns, name = pod.metadata.namespace, pod.metadata.name
    if pod.spec.get("nodeName") not in ready_nodes:
        continue
    for cs in pod.status.get("containerStatuses", []):
        waiting = getattr(cs.state, "waiting", None)
        if not waiting or waiting.get("reason") != "CrashLoopBackOff":
            continue
        term = cs.get("lastState", {}).get("terminated") or {}
        log = v1.read_namespaced_pod_log(name=name, namespace=ns, container=cs.name, tail_lines=1)
        lines = log.splitlines()
        result[f"{ns}/{name}/{cs['name']}"] = [term.get("exitCode"), lines[-1] if lines else ""]
result
