from kubernetes import client
name = "worker-c2"
core = k8s.coreV1()

node = core.read_node(name)
lease = k8s.coordinationV1().read_namespaced_lease(name, "kube-node-lease")
events = core.list_event_for_all_namespaces(field_selector=f"involvedObject.kind=Node,involvedObject.name={name}")["items"]

# ISO strings compare like dates
sec = lambda iso: iso[:19]
entry = lambda t, text: {"t": sec(t), "text": text}

entries = [
    entry(node["metadata"]["creationTimestamp"], "created"),
    *map(lambda c: entry(c["lastTransitionTime"], "condition " + c["type"]), node["status"]["conditions"]),
    entry(lease["spec"]["renewTime"], "lease renewed"),
    *map(lambda e: entry(e["lastTimestamp"] or e["eventTime"], "event " + e["reason"]), events),
]

list(map(lambda e: e["text"], sorted(entries, key=lambda e: (e["t"], e["text"]))))
