from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

pods = v1.list_namespaced_pod("shop", watch=False)
unreadable = {}
for pod in pods.items:
    for c in pod.spec.containers:
        try:
            v1.read_namespaced_pod_log(
                pod.metadata.name, "shop", container=c.name, limit_bytes=1
            )
        except client.exceptions.ApiException as e:
            unreadable[f"{pod.metadata.name}/{c.name}"] = int(e.status)

unreadable
