# question: q166-stuck-objects · style: camel · author: a storage on-call
from datetime import datetime, timedelta, timezone

cutoff = datetime.now(timezone.utc) - timedelta(days=1)

def parse(ts):
    return datetime.fromisoformat(ts.replace("Z", "+00:00"))

sources = {
    "PersistentVolumeClaim": k8s.coreV1().listPersistentVolumeClaimForAllNamespaces()["items"],
    "Pod": k8s.coreV1().listPodForAllNamespaces()["items"],
    "Certificate": k8s.get("certificates.cert-manager.io")["items"],
}
stuck = []
for kind, items in sources.items():
    for o in items:
        meta = o["metadata"]
        if meta.get("deletionTimestamp") and meta.get("finalizers") and parse(meta["deletionTimestamp"]) < cutoff:
            stuck.append("/".join([kind, meta["namespace"], meta["name"]]))
sorted(stuck)
