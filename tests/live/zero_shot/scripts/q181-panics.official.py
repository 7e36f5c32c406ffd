from kubernetes import client, config
from kubernetes.client.rest import ApiException

config.load_kube_config()
v1 = client.CoreV1Api()

panicking = set()
pods = v1.list_namespaced_pod(namespace="shop")
for pod in pods.items:
    containers = list(pod.spec.init_containers or []) + list(pod.spec.containers or [])
    for container in containers:
        try:
            log = v1.read_namespaced_pod_log(
                name=pod.metadata.name,
                namespace="shop",
                container=container.name,
                tail_lines=20,
            )
        except ApiException:
            continue
        if any(line.startswith("panic:") for line in log.splitlines()):
            panicking.add(pod.metadata.name)

sorted(panicking)
