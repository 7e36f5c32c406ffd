# question: q107-pvc-unused · style: mixed · author: a cost saver
core = k8s.coreV1()
used = {
    (p.metadata.namespace, v.persistent_volume_claim.claim_name)
    for p in core.list_pod_for_all_namespaces()
    for v in p.spec.volumes
    if v.persistent_volume_claim
}
used |= {
    (p.metadata.namespace, f"{p.metadata.name}-{v.name}")
    for p in core.list_pod_for_all_namespaces()
    for v in p.spec.volumes
    if v.ephemeral
}
sorted(f"{ns}/{n}" for c in core.list_persistent_volume_claim_for_all_namespaces()
       if (ns := c.metadata.namespace, n := c.metadata.name) and (ns, n) not in used)
