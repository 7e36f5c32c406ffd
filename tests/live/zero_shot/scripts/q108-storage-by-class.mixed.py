# question: q108-storage-by-class · style: mixed · author: a storage administrator
sizes = defaultdict(float)
for pvc in k8s.coreV1().list_persistent_volume_claim_for_all_namespaces():
    sizes[pvc.spec.storage_class_name or ""] += float(quantity(pvc.spec.resources.requests["storage"]))
{cls: round(total / 1024**3, 1) for cls, total in sizes.items()}
