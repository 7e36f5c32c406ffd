# question: q134-flag-users · style: dynamic · author: a feature-flag owner
users = set()
for d in k8s.get("deployments.apps", namespace="shop"):
    spec = d.spec.template.spec
    in_volume = any(v.configMap and v.configMap.name == "feature-flags" for v in spec.volumes or [])
    in_env = any(
        e.configMapRef and e.configMapRef.name == "feature-flags"
        for c in spec.containers
        for e in c.envFrom or []
    )
    if in_volume or in_env:
        users.add(d.metadata.name)
sorted(users)
