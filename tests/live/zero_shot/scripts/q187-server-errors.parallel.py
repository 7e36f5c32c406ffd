import json

v1 = k8s.coreV1()
names = [p.metadata.name for p in v1.list_namespaced_pod("shop", label_selector="app=catalog")]
logs = k8s.parallel([
    (lambda n=n: v1.read_namespaced_pod_log(n, "shop", container="catalog")) for n in names
])

errors = Counter()
for name, log in zip(names, logs):
    if not isinstance(log, str):
        continue
    for line in log.split("\n"):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue
        if not isinstance(entry, dict):
            continue
        try:
            status = int(entry.get("status") or 0)
        except (TypeError, ValueError):
            continue
        if status >= 500:
            errors[entry.get("path")] += 1

dict(errors)
