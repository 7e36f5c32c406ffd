# question: q117-hpa-over-target · style: dynamic · author: an operator developer
res = {}
for h in k8s.get("horizontalpodautoscalers.autoscaling"):
    target = current = None
    for m in h.spec.metrics:
        if m.type == "Resource" and m.resource.name == "cpu":
            target = m.resource.target.averageUtilization
    for m in h.status.currentMetrics:
        if m.type == "Resource" and m.resource.name == "cpu":
            current = m.resource.current.averageUtilization
    if target is not None and current is not None and current > target:
        res[f"{h.metadata.namespace}/{h.metadata.name}"] = [current, target]
res
