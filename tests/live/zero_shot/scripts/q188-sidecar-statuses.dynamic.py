import re

pod_api = k8s.dynamic().resources.get(api_version="v1", kind="Pod")
pods = pod_api.get(namespace="shop", label_selector="app=catalog")

rx = re.compile(r'"[^"]*" (\d{3}) (\d+|-)')
statuses = Counter()

for pod in pods.items:
    containers = [c.name for c in pod.spec.containers] + [c.name for c in (pod.spec.initContainers or [])]
    if "istio-proxy" not in containers:
        continue
    try:
        # subresource log
        log = k8s.coreV1().read_namespaced_pod_log(
            name=pod.metadata.name, namespace=pod.metadata.namespace, container="istio-proxy"
        )
    except Exception as e:
        continue
    for line in log.splitlines():
        m = rx.search(line)
        if m:
            statuses[m.group(1)] += 1

dict(statuses)
