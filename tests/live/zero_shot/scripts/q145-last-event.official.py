# question: q145-last-event · style: official · author: an engineer who reads the API reference
from kubernetes import client, config

config.load_kube_config()
core = client.CoreV1Api()

events = core.list_namespaced_event(
    namespace="shop",
    field_selector="involvedObject.kind=Deployment,involvedObject.name=recommendations",
)
latest = max(events.items, key=lambda e: e.last_timestamp)
latest.message
