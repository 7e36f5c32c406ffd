from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

services = v1.list_service_for_all_namespaces(watch=False)
pods = v1.list_pod_for_all_namespaces(watch=False)

pods_by_ns = {}
for pod in pods.items:
    pods_by_ns.setdefault(pod.metadata.namespace, []).append(pod)

result = {}
for svc in services.items:
    selector = svc.spec.selector
    if not selector:
        continue
    matched = []
    for pod in pods_by_ns.get(svc.metadata.namespace, []):
        labels = pod.metadata.labels or {}
        if all(labels.get(k) == v for k, v in selector.items()):
            matched.append(pod)
    if not matched:
        continue

    numbers, names = set(), set()
    for pod in matched:
        for container in pod.spec.containers:
            for port in container.ports or []:
                numbers.add(port.container_port)
                if port.name:
                    names.add(port.name)

    undeclared = set()
    for sp in svc.spec.ports or []:
        target = sp.target_port if sp.target_port is not None else sp.port
        if isinstance(target, int):
            ok = target in numbers
        else:
            ok = target in names
        if not ok:
            undeclared.add(str(target))
    if undeclared:
        result["%s/%s" % (svc.metadata.namespace, svc.metadata.name)] = sorted(undeclared)

result
