# question: q104-pvc-missing-class · style: camel · author: a TypeScript developer
classes = {sc["metadata"]["name"] for sc in k8s.storageV1().listStorageClass()["items"]}
out = {}
for pvc in k8s.coreV1().listPersistentVolumeClaimForAllNamespaces()["items"]:
    cls = pvc["spec"].get("storageClassName")
    if pvc["status"]["phase"] == "Pending" and cls and cls not in classes:
        out[f'{pvc["metadata"]["namespace"]}/{pvc["metadata"]["name"]}'] = cls
out
