# question: q021-created-last-day · style: terse · author: an SRE who likes one-liners
from datetime import datetime, timezone
cut = datetime.now(timezone.utc) - timedelta(days=1)
dict(Counter(p.metadata.namespace for p in k8s.coreV1().list_pod_for_all_namespaces().items if p.metadata.creation_timestamp > cut))
