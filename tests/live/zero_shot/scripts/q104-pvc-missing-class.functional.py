# question: q104-pvc-missing-class · style: functional · author: a storage admin who likes comprehensions
classes = frozenset(sc.metadata.name for sc in k8s.storageV1().list_storage_class().items)
claims = k8s.coreV1().list_persistent_volume_claim_for_all_namespaces().items
orphan = lambda c: (c.status.phase == "Pending" and c.spec.storage_class_name
                    and c.spec.storage_class_name not in classes)
{f"{c.metadata.namespace}/{c.metadata.name}": c.spec.storage_class_name for c in filter(orphan, claims)}
