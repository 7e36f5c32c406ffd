# question: q091-target-ports · style: official · author: an experienced client user
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

pods_by_ns = {}
for pod in v1.list_pod_for_all_namespaces().items:
    pods_by_ns.setdefault(pod.metadata.namespace, []).append(pod)


def selected(pod, selector):
    labels = pod.metadata.labels or {}
    return all(labels.get(k) == v for k, v in selector.items())


bad = set()
for svc in v1.list_service_for_all_namespaces().items:
    selector = svc.spec.selector
    if not selector:
        continue
    pods = [p for p in pods_by_ns.get(svc.metadata.namespace, []) if selected(p, selector)]
    if not pods:
        continue
    names = set()
    for p in pods:
        for c in p.spec.containers:
            for port in c.ports or []:
                if port.name:
                    names.add(port.name)
    for sp in svc.spec.ports or []:
        if isinstance(sp.target_port, str) and sp.target_port not in names:
            bad.add(f"{svc.metadata.namespace}/{svc.metadata.name}:{sp.target_port}")

sorted(bad)
