apps = k8s.appsV1()
ns = "shop"
uses = defaultdict(set)

workloads = [("Deployment", d) for d in apps.listNamespacedDeployment(ns)]
workloads += [("StatefulSet", s) for s in apps.listNamespacedStatefulSet(ns)]

for kind, w in workloads:
    ref = f"{kind}/{w.metadata.name}"
    spec = w.spec.template.spec
    for c in list(spec.containers or []) + list(spec.initContainers or []):
        for e in c.env or []:
            if e.valueFrom and e.valueFrom.configMapKeyRef:
                uses[e.valueFrom.configMapKeyRef.name].add(f"{ref}:env")
        for ef in c.envFrom or []:
            if ef.configMapRef:
                uses[ef.configMapRef.name].add(f"{ref}:envFrom")
    for v in spec.volumes or []:
        if v.configMap:
            uses[v.configMap.name].add(f"{ref}:volume")
        if v.projected:
            for src in v.projected.sources or []:
                if src.configMap:
                    uses[src.configMap.name].add(f"{ref}:projected")

{cm: sorted(refs) for cm, refs in sorted(uses.items())}
