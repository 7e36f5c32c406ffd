# question: q026-host-paths · style: dynamic · author: a node security auditor
ds_api = k8s.dynamic().resources.get(api_version="apps/v1", kind="DaemonSet")
paths = {}
for ds in ds_api.get().items:
    found = [v.hostPath.path for v in ds.spec.template.spec.volumes or [] if v.hostPath]
    if found:
        paths[f"{ds.metadata.namespace}/{ds.metadata.name}"] = sorted(set(found))
paths
