# question: q089-loadbalancer-pending · style: mixed · author: a cloud engineer
[*sorted(f"{(m := s.metadata).namespace}/{m.name}"
         for s in k8s.coreV1().list_service_for_all_namespaces()
         if s.spec.type == "LoadBalancer" and not s.status.load_balancer.ingress)]
