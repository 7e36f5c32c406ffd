# question: q086-jobs-to-clean · style: functional · author: a housekeeper with lambdas
from datetime import datetime, timedelta, timezone

week_ago = datetime.now(timezone.utc) - timedelta(days=7)
old = lambda j: j.status.completion_time and j.status.completion_time < week_ago
no_ttl = lambda j: j.spec.ttl_seconds_after_finished is None

sorted(f"{j.metadata.namespace}/{j.metadata.name}"
       for j in filter(lambda j: old(j) and no_ttl(j), k8s.batchV1().list_job_for_all_namespaces().items))
