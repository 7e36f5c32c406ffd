# question: q111-memory-volumes · style: terse · author: an SRE who likes one-liners
sorted(f"{p.metadata.namespace}/{p.metadata.name}" for p in k8s.coreV1().list_pod_for_all_namespaces().items if any(v.empty_dir and v.empty_dir.medium == "Memory" for v in p.spec.volumes or []))
