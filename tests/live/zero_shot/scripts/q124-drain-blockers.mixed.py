# question: q124-drain-blockers · style: mixed · author: an upgrade lead
pdbs, pods = k8s.parallel([
    lambda: k8s.policyV1().list_pod_disruption_budget_for_all_namespaces(),
    lambda: k8s.coreV1().list_pod_for_all_namespaces(),
])
blocking = defaultdict(list)
for b in pdbs:
    if b.status.disruptions_allowed == 0:
        blocking[b.metadata.namespace].append(b.spec.selector.match_labels)

out = defaultdict(set)
for p in pods:
    if p.status.phase in ("Succeeded", "Failed") or not (node := p.spec.node_name):
        continue
    labels = p.metadata.labels
    if any(sel.items() <= labels.items() for sel in blocking[p.metadata.namespace]):
        out[node].add(f"{p.metadata.namespace}/{p.metadata.name}")
{n: sorted(v) for n, v in out.items()}
