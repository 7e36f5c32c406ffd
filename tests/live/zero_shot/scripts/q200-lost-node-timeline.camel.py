v1 = k8s.coreV1()
name = "worker-c2"

node = v1.readNode(name)
entries = [(node.metadata.creationTimestamp, "created")]

for c in node.status.conditions or []:
    entries.append((c.lastTransitionTime, f"condition {c.type}"))

try:
    lease = k8s.coordinationV1().readNamespacedLease(name, "kube-node-lease")
    if lease.spec.renewTime:
        entries.append((lease.spec.renewTime, "lease renewed"))
except Exception as e:
    print("no lease:", e)

events = v1.listEventForAllNamespaces(fieldSelector=f"involvedObject.kind=Node,involvedObject.name={name}")
for e in events.items:
    entries.append((e.lastTimestamp or e.eventTime, f"event {e.reason}"))

# ISO text: first 19 chars = to the second
[text for _, text in sorted((t[:19], text) for t, text in entries if t)]
