import json
from kubernetes.client.rest import ApiException

pods = k8s.get("pods", namespace="shop", label_selector="app=orders")

counts = Counter()
for pod in pods:
    try:
        log = k8s.coreV1().read_namespaced_pod_log(
            pod.metadata.name, "shop", container="orders", since_seconds=3600
        )
    except ApiException:
        continue
    for line in log.splitlines():
        line = line.strip()
        if not line.startswith("{"):
            continue
        try:
            rec = json.loads(line)
        except ValueError:
            continue
        if str(rec.get("level", "")).lower() == "error":
            counts[rec.get("upstream")] += 1

dict(counts)
