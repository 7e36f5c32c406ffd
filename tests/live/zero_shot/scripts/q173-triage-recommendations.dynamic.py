# question: q173-triage-recommendations · style: dynamic · author: an operator developer
dep = k8s.get("deployments.apps", "recommendations", namespace="shop")
pods = k8s.get("pods", namespace="shop", label_selector="app=recommendations")
names = {p.metadata.name for p in pods}
reasons = {cs.state.waiting.reason for p in pods for cs in p.status.containerStatuses or [] if cs.state.waiting}
events = k8s.get("events", namespace="shop", field_selector="type=Warning,involvedObject.kind=Pod")
{
    "desired": dep.spec.replicas,
    "ready": dep.status.readyReplicas or 0,
    "reasons": sorted(reasons),
    "warnings": sum(e["count"] or 1 for e in events if e.involvedObject.name in names),
}
