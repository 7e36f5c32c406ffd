# question: q035-multi-container · style: terse · author: an SRE who likes one-liners
{str(n): k for n, k in sorted(Counter(len(p.spec.containers) for p in k8s.coreV1().list_pod_for_all_namespaces().items).items())}
