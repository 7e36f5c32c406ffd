# question: q003-pods-by-phase · style: terse · author: an SRE who likes one-liners
Counter(p.status.phase for p in k8s.coreV1().list_pod_for_all_namespaces())
