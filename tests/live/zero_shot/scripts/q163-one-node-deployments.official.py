# question: q163-one-node-deployments · style: official · author: a reliability engineer
from collections import defaultdict
from kubernetes import client, config

config.load_kube_config()
apps_v1 = client.AppsV1Api()
core_v1 = client.CoreV1Api()

rs_owner = {}
for rs in apps_v1.list_replica_set_for_all_namespaces().items:
    for ref in rs.metadata.owner_references or []:
        if ref.kind == "Deployment":
            rs_owner[(rs.metadata.namespace, rs.metadata.name)] = ref.name

nodes = defaultdict(list)
for pod in core_v1.list_pod_for_all_namespaces(field_selector="status.phase=Running").items:
    for ref in pod.metadata.owner_references or []:
        if ref.kind == "ReplicaSet":
            deployment = rs_owner.get((pod.metadata.namespace, ref.name))
            if deployment:
                nodes[f"{pod.metadata.namespace}/{deployment}"].append(pod.spec.node_name)

{name: ns[0] for name, ns in nodes.items() if len(ns) >= 3 and len(set(ns)) == 1}
