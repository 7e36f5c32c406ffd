# question: q017-distinct-images · style: mixed · author: a terse model
len({c.image for p in k8s.coreV1().list_pod_for_all_namespaces() for c in [*p.spec.containers, *p.spec.init_containers]})
