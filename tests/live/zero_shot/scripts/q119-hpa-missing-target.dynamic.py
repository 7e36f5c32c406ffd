# question: q119-hpa-missing-target · style: dynamic · author: an operator developer
exists = set()
for resource, kind in (("deployments.apps", "Deployment"), ("statefulsets.apps", "StatefulSet")):
    for o in k8s.get(resource):
        exists.add((o.metadata.namespace, kind, o.metadata.name))
out = {}
for h in k8s.get("horizontalpodautoscalers.autoscaling"):
    t = h.spec.scaleTargetRef
    if t.kind in ("Deployment", "StatefulSet") and (h.metadata.namespace, t.kind, t.name) not in exists:
        out[f"{h.metadata.namespace}/{h.metadata.name}"] = f"{t.kind}/{t.name}"
out
