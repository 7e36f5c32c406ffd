# question: q090-node-ports · style: mixed · author: a network engineer
ports = defaultdict(set)
for svc in k8s.coreV1().list_service_for_all_namespaces():
    if svc.spec.type == "NodePort":
        key = f"{svc.metadata.namespace}/{svc.metadata.name}"
        ports[key].update(p.node_port for p in svc.spec.ports if p.node_port)
{k: sorted(v) for k, v in sorted(ports.items())}
