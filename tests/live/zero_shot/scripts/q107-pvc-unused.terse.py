# question: q107-pvc-unused · style: terse · author: an SRE who likes one-liners
v1 = k8s.coreV1()
used = {(p.metadata.namespace, v.persistent_volume_claim.claim_name) for p in v1.list_pod_for_all_namespaces().items for v in p.spec.volumes or [] if v.persistent_volume_claim}
sorted(f"{c.metadata.namespace}/{c.metadata.name}" for c in v1.list_persistent_volume_claim_for_all_namespaces().items if (c.metadata.namespace, c.metadata.name) not in used)
