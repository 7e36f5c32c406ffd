# question: q068-single-replica-prod · style: functional · author: a set-theory fan
from itertools import chain

prod = [n.metadata.name for n in k8s.coreV1().list_namespace(label_selector="env=prod").items]
deployments = chain.from_iterable(k8s.appsV1().list_namespaced_deployment(ns).items for ns in prod)
sorted(f"{d.metadata.namespace}/{d.metadata.name}" for d in deployments if d.spec.replicas == 1)
