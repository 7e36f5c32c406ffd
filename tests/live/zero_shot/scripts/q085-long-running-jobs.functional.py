# question: q085-long-running-jobs · style: functional · author: a Scala developer
from datetime import datetime, timezone

now = datetime.now(timezone.utc)
is_active = lambda j: (j.status.active or 0) > 0
is_long = lambda j: j.status.start_time is not None and (now - j.status.start_time).total_seconds() > 2 * 3600
name = lambda j: f"{j.metadata.namespace}/{j.metadata.name}"

sorted(map(name, filter(lambda j: is_active(j) and is_long(j), k8s.batchV1().list_job_for_all_namespaces().items)))
