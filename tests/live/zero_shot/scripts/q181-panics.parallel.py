v1 = k8s.coreV1()
pods = v1.list_namespaced_pod("shop").items

targets = []
for p in pods:
    for c in (p.spec.init_containers or []) + (p.spec.containers or []) + (p.spec.ephemeral_containers or []):
        targets.append((p.metadata.name, c.name))

logs = k8s.parallel([
    lambda pod=pod, container=container: v1.read_namespaced_pod_log(pod, "shop", container=container, tail_lines=20)
    for pod, container in targets
])

found = set()
for (pod, container), log in zip(targets, logs):
    if isinstance(log, Exception):
        continue
    if any(line.startswith("panic:") for line in (log or "").splitlines()):
        found.add(pod)

sorted(found)
