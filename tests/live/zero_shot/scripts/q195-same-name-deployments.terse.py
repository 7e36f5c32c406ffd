d = defaultdict(dict)
for x in k8s.appsV1().list_deployment_for_all_namespaces():
    d[x.metadata.name][x.metadata.namespace] = [x.spec.replicas, x.spec.template.spec.containers[0].image.rsplit(":", 1)[-1], x.status.ready_replicas or 0]
{n: v for n, v in d.items() if len(v) > 1}
