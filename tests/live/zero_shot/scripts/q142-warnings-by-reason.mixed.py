# question: q142-warnings-by-reason · style: mixed · author: an on-call SRE
c = Counter()
for e in k8s.coreV1().list_event_for_all_namespaces(field_selector="type=Warning"):
    c[e.reason] += e.count or 1
dict(c.most_common())
