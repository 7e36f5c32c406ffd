# question: q143-recent-events · style: mixed · author: a watcher of warnings
from datetime import datetime, timezone

since = datetime.now(timezone.utc) - timedelta(hours=1)
dict(Counter(
    e.metadata.namespace
    for e in k8s.coreV1().list_event_for_all_namespaces()
    if e.type == "Warning" and (ts := e.last_timestamp) and ts >= since
))
