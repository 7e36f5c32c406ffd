# question: q009-terminating-finalizers · style: dynamic · author: an operator developer used to the DynamicClient
pods = k8s.dynamic().resources.get(api_version="v1", kind="Pod")
result = {}
for pod in pods.get().items:
    if pod.metadata.deletionTimestamp:
        result[f"{pod.metadata.namespace}/{pod.metadata.name}"] = sorted(pod.metadata.finalizers or [])
result
