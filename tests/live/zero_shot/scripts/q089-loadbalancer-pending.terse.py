# question: q089-loadbalancer-pending · style: terse · author: an SRE who likes one-liners
sorted(f"{s.metadata.namespace}/{s.metadata.name}" for s in k8s.coreV1().list_service_for_all_namespaces().items if s.spec.type == "LoadBalancer" and not s.status.load_balancer.ingress)
