# question: q007-unschedulable · style: dynamic · author: a dynamic-client user who writes operators
dyn = k8s.dynamic()
pod_api = dyn.resources.get(api_version="v1", kind="Pod")

out = {}
for pod in pod_api.get().items:
    for cond in pod.status.conditions or []:
        if cond.type == "PodScheduled" and cond.status == "False":
            out[f"{pod.metadata.namespace}/{pod.metadata.name}"] = cond.message
out
