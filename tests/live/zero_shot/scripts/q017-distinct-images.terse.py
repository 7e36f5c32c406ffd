# question: q017-distinct-images · style: terse · author: an SRE who likes one-liners
len({c.image for p in k8s.coreV1().list_pod_for_all_namespaces().items for c in [*p.spec.containers, *(p.spec.init_containers or [])]})
