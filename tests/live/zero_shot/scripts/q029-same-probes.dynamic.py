# question: q029-same-probes · style: dynamic · author: an operator developer
out = []
for d in k8s.get("deployments.apps", namespace="shop"):
    for c in d.spec.template.spec.containers:
        live, ready = c.livenessProbe, c.readinessProbe
        if not live or not ready or not live.httpGet or not ready.httpGet:
            continue
        if (live.httpGet.path, live.httpGet.port) == (ready.httpGet.path, ready.httpGet.port):
            out.append(f"{d.metadata.name}/{c.name}")
sorted(out)
