# question: q143-recent-events · style: terse · author: an SRE who likes one-liners
from datetime import datetime, timezone
now = datetime.now(timezone.utc)
dict(Counter(e.metadata.namespace for e in k8s.coreV1().list_event_for_all_namespaces(field_selector="type=Warning").items if e.last_timestamp and now - e.last_timestamp <= timedelta(hours=1)))
