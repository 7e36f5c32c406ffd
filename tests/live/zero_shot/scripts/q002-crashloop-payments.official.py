# question: q002-crashloop-payments · style: official · author: a support engineer
from kubernetes import client, config

config.load_kube_config()
v1 = client.CoreV1Api()

crashing = set()
for pod in v1.list_namespaced_pod("payments").items:
    for status in pod.status.container_statuses or []:
        if status.state.waiting and status.state.waiting.reason == "CrashLoopBackOff":
            crashing.add(pod.metadata.name)

sorted(crashing)
