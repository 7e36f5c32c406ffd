# question: q140-stale-node-leases · style: functional · author: a terse functional SRE
from datetime import datetime, timedelta, timezone

limit = datetime.now(timezone.utc) - timedelta(hours=1)
stale = lambda l: l.spec.renew_time is None or l.spec.renew_time < limit
sorted(map(lambda l: l.metadata.name,
           filter(stale, k8s.coordinationV1().list_namespaced_lease("kube-node-lease").items)))
