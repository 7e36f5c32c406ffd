# question: q074-checkout-history · style: official · author: a release engineer
from kubernetes import client, config

config.load_kube_config()
apps = client.AppsV1Api()

deployment = apps.read_namespaced_deployment(name="checkout", namespace="shop")
history = {}
for rs in apps.list_namespaced_replica_set(namespace="shop").items:
    owners = rs.metadata.owner_references or []
    if any(o.uid == deployment.metadata.uid and o.controller for o in owners):
        revision = rs.metadata.annotations["deployment.kubernetes.io/revision"]
        history[str(revision)] = rs.spec.template.spec.containers[0].image
dict(sorted(history.items(), key=lambda kv: int(kv[0])))
