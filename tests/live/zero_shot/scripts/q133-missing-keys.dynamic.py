# question: q133-missing-keys · style: dynamic · author: a config detective
dyn = k8s.dynamic()
cms = dyn.resources.get(api_version="v1", kind="ConfigMap").get()
pods = dyn.resources.get(api_version="v1", kind="Pod").get()

keys = {}
for cm in cms.items:
    keys[(cm.metadata.namespace, cm.metadata.name)] = set((cm.data or {}).keys()) | set((cm.binaryData or {}).keys())

missing = {}
for pod in pods.items:
    ns = pod.metadata.namespace
    for c in pod.spec.containers:
        for env in c.env or []:
            ref = env.valueFrom.configMapKeyRef if env.valueFrom else None
            if ref and (ns, ref.name) in keys and ref.key not in keys[(ns, ref.name)]:
                missing[f"{ns}/{pod.metadata.name}"] = f"{ref.name}/{ref.key}"
missing
