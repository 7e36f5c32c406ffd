from kubernetes import client, config
from kubernetes.client.rest import ApiException

try:
    config.load_incluster_config()
except Exception:
    config.load_kube_config()

v1 = client.CoreV1Api()

# kubectl logs -n shop -l app=search -c search --since=1h | wc -l
result = {}
for pod in k8s.get("pods", namespace="shop", label_selector={"app": "search"}):
    try:
        logs = v1.read_namespaced_pod_log(
            name=pod.name if hasattr(pod, "name") and pod.name else pod.metadata.name,
            namespace="shop",
            container="search",
            since_seconds=3600,
            _preload_content=False,
        )
        data = logs.data.decode("utf-8", errors="replace")
        result[pod.metadata.name] = len(data.splitlines())
    except ApiException as e:
        continue

result
