from datetime import datetime, timezone

client = k8s.dynamic()
pods = client.resources.get(api_version="v1", kind="Pod").get(namespace="shop", label_selector="app=redis")

result = {}
for pod in pods.items:
    newest = None
    for c in pod.spec.containers:
        try:
            log = k8s.coreV1().read_namespaced_pod_log(
                pod.metadata.name, "shop", container=c.name, timestamps=True, tail_lines=1
            )
        except ApiException:
            continue
        log = log.strip()
        if not log:
            continue
        stamp = log.splitlines()[-1].split(" ", 1)[0]
        # 2026-01-31T12:00:00.123456789Z -> cut the nanoseconds
        t = datetime.strptime(stamp[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
        if newest is None or t > newest:
            newest = t
    if newest:
        result[pod.metadata.name] = newest.strftime("%Y-%m-%dT%H:%M:%SZ")

result
