"""What did the latest rollout of each Deployment change?"""
from typing import Dict, List, Tuple

REVISION_ANNOTATION = "deployment.kubernetes.io/revision"

apps_v1 = k8s.appsV1()

# All deployments, keyed by UID, so that we can resolve owner references safely
deployments: Dict[str, object] = {}
for dep in apps_v1.list_deployment_for_all_namespaces().items:
    deployments[dep.metadata.uid] = dep

# Group the replica sets by the uid of the controlling deployment
rs_by_deployment: Dict[str, List[Tuple[int, str]]] = {}
for rs in apps_v1.list_replica_set_for_all_namespaces().items:
    owner_uid = None
    for ref in rs.metadata.owner_references or []:
        if ref.controller and ref.kind == "Deployment":
            owner_uid = ref.uid
            break
    if owner_uid is None or owner_uid not in deployments:
        continue

    annotations = rs.metadata.annotations or {}
    try:
        revision = int(annotations.get(REVISION_ANNOTATION, "0"))
    except (TypeError, ValueError):
        print(f"WARNING: bad revision on {rs.metadata.namespace}/{rs.metadata.name}")
        revision = 0

    image = rs.spec.template.spec.containers[0].image
    tag = image.rsplit(":", 1)[-1]
    rs_by_deployment.setdefault(owner_uid, []).append((revision, tag))

# Compare the second highest with the highest revision
result: Dict[str, str] = {}
for uid, revisions in rs_by_deployment.items():
    if len(revisions) < 2:
        continue
    revisions.sort(key=lambda item: item[0])
    old_tag = revisions[-2][1]
    new_tag = revisions[-1][1]
    dep = deployments[uid]
    key = f"{dep.metadata.namespace}/{dep.metadata.name}"
    result[key] = f"{old_tag} -> {new_tag}"

result
