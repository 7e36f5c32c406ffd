# question: q019-restarts-last-hour · style: official · author: a careful on-call engineer
from datetime import datetime, timedelta, timezone
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

cutoff = datetime.now(timezone.utc) - timedelta(minutes=60)
rows = []
for pod in v1.list_pod_for_all_namespaces(watch=False).items:
    for cs in pod.status.container_statuses or []:
        term = cs.last_state.terminated if cs.last_state else None
        if term and term.finished_at and term.finished_at >= cutoff:
            rows.append([pod.metadata.namespace, pod.metadata.name, cs.name, term.reason])
sorted(rows)
