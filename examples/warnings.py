# The most frequent warnings, grouped: one line each instead of hundreds of events.
from collections import Counter

seen = Counter()
example = {}
for event in k8s.coreV1().list_event_for_all_namespaces(field_selector="type=Warning"):
    key = (event.reason, event.involved_object.kind, event.metadata.namespace)
    seen[key] += event.count or 1
    example[key] = event.message or ""
[(count, *key, example[key][:80]) for key, count in seen.most_common(8)]
