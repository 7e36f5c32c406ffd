# question: q073-old-replicasets · style: official · author: a cluster janitor
from collections import Counter
from kubernetes import client, config

config.load_kube_config()
apps = client.AppsV1Api()

counts = Counter()
for rs in apps.list_replica_set_for_all_namespaces().items:
    if rs.spec.replicas == 0:
        counts[rs.metadata.namespace] += 1
dict(counts)
