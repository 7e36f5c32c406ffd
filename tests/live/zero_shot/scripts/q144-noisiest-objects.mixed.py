# question: q144-noisiest-objects · style: mixed · author: an on-call engineer
sums = Counter()
for ev in k8s.coreV1().list_event_for_all_namespaces(field_selector="type=Warning"):
    o = ev.involved_object
    key = "/".join(filter(None, [o.kind, o.namespace, o.name]))
    sums[key] += ev.count or 1
[list(t) for t in sums.most_common(3)]
