# question: q025-capabilities · style: dynamic · author: a security auditor
result = {}
for kind in ("deployments.apps", "daemonsets.apps"):
    for w in k8s.get(kind):
        for c in w.spec.template.spec.containers:
            sc = c.securityContext
            caps = sc.capabilities.add if sc and sc.capabilities else None
            if caps:
                result[f"{w.metadata.namespace}/{w.metadata.name}/{c.name}"] = sorted(caps)
result
