# question: q106-pv-leftovers · style: mixed · author: a storage admin
{
    pv.metadata.name: [ph, f"{ref.namespace}/{ref.name}" if (ref := pv.spec.claim_ref) else None]
    for pv in k8s.coreV1().list_persistent_volume()
    if (ph := pv.status.phase) in {"Released", "Failed"}
}
