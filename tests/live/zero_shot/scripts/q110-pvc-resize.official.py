# question: q110-pvc-resize · style: official · author: a storage engineer
from kubernetes import client, config, utils

config.load_kube_config()
v1 = client.CoreV1Api()

pending = {}
for pvc in v1.list_persistent_volume_claim_for_all_namespaces().items:
    if pvc.status.phase != "Bound":
        continue
    capacity = pvc.status.capacity["storage"]
    request = pvc.spec.resources.requests["storage"]
    if utils.parse_quantity(capacity) < utils.parse_quantity(request):
        pending[f"{pvc.metadata.namespace}/{pvc.metadata.name}"] = [capacity, request]
pending
