apps = k8s.appsV1()
REV = "deployment.kubernetes.io/revision"

byOwner = defaultdict(list)
for rs in apps.listReplicaSetForAllNamespaces().items:
    for ref in rs.metadata.ownerReferences or []:
        if ref.controller and ref.kind == "Deployment":
            byOwner[ref.uid].append(rs)

def revision(rs):
    return int((rs.metadata.annotations or {}).get(REV, 0))

def tag(rs):
    return rs.spec.template.spec.containers[0].image.split(":")[-1]

result = {}
for d in apps.listDeploymentForAllNamespaces().items:
    owned = sorted(byOwner[d.metadata.uid], key=revision)
    if len(owned) < 2:
        continue
    old, new = owned[-2:]
    result[f"{d.metadata.namespace}/{d.metadata.name}"] = f"{tag(old)} -> {tag(new)}"

result
