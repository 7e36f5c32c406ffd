# question: q008-evicted · style: dynamic · author: a kubectl power user
counts = Counter(p.metadata.namespace for p in k8s.get("pods") if p.status.reason == "Evicted")
dict(counts)
