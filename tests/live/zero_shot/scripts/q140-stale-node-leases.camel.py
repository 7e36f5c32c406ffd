# question: q140-stale-node-leases · style: camel · author: a TypeScript developer
from datetime import datetime, timezone
now = datetime.now(timezone.utc)
stale = []
for lease in k8s.coordinationV1().listNamespacedLease("kube-node-lease")["items"]:
    renewed = lease.get("spec", {}).get("renewTime")
    if not renewed or now - datetime.fromisoformat(renewed.replace("Z", "+00:00")) > timedelta(hours=1):
        stale.append(lease["metadata"]["name"])
sorted(stale)
