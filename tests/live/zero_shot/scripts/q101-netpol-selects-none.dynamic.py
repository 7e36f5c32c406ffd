# question: q101-netpol-selects-none · style: dynamic · author: an operator developer used to the DynamicClient
dyn = k8s.dynamic()
policies = dyn.resources.get(api_version="networking.k8s.io/v1", kind="NetworkPolicy").get()
pods = dyn.resources.get(api_version="v1", kind="Pod").get()

labels_by_ns = defaultdict(list)
for p in pods.items:
    labels_by_ns[p.metadata.namespace].append(dict(p.metadata.labels or {}))


def selects(selector, labels):
    for k, v in (selector.matchLabels or {}).items():
        if labels.get(k) != v:
            return False
    for e in selector.matchExpressions or []:
        values = list(e["values"] or [])
        if e.operator == "In" and labels.get(e.key) not in values:
            return False
        if e.operator == "NotIn" and e.key in labels and labels[e.key] in values:
            return False
        if e.operator == "Exists" and e.key not in labels:
            return False
        if e.operator == "DoesNotExist" and e.key in labels:
            return False
    return True


sorted(
    f"{np.metadata.namespace}/{np.metadata.name}"
    for np in policies.items
    if not any(selects(np.spec.podSelector, l) for l in labels_by_ns[np.metadata.namespace])
)
