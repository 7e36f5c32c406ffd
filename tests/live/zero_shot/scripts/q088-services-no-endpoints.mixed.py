# question: q088-services-no-endpoints · style: mixed · author: a network-minded SRE
svcs, slices = k8s.parallel([
    lambda: k8s.coreV1().list_service_for_all_namespaces(),
    lambda: k8s.discoveryV1().list_endpoint_slice_for_all_namespaces(),
])
ready = Counter()
for s in slices:
    if name := s.metadata.labels.get("kubernetes.io/service-name"):
        ready[s.metadata.namespace, name] += sum(1 for e in s.endpoints if e.conditions.ready)
sorted(f"{s.metadata.namespace}/{s.metadata.name}" for s in svcs
       if s.spec.selector and not ready[s.metadata.namespace, s.metadata.name])
