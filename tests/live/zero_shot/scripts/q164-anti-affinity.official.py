# question: q164-anti-affinity · style: official · author: a scheduling specialist
from kubernetes import client, config

config.load_kube_config()
apps_v1 = client.AppsV1Api()

result = {}
for d in apps_v1.list_deployment_for_all_namespaces().items:
    affinity = d.spec.template.spec.affinity
    if not affinity or not affinity.pod_anti_affinity:
        continue
    terms = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution or []
    if terms:
        result[f"{d.metadata.namespace}/{d.metadata.name}"] = sorted({t.topology_key for t in terms})
result
