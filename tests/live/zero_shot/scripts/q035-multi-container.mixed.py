# question: q035-multi-container · style: mixed · author: a helper-loving model
sizes = Counter(len(p.spec.containers) for p in k8s.coreV1().list_pod_for_all_namespaces())
{str(n): cnt for n, cnt in sorted(sizes.items())}
