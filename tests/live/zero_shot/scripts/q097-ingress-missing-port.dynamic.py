# question: q097-ingress-missing-port · style: dynamic · author: a dynamic-client purist
from kubernetes import config, dynamic
from kubernetes.client import api_client

client = dynamic.DynamicClient(api_client.ApiClient(configuration=config.load_kube_config()))
ingress_api = client.resources.get(api_version="networking.k8s.io/v1", kind="Ingress")
service_api = client.resources.get(api_version="v1", kind="Service")

services = {(s.metadata.namespace, s.metadata.name): s for s in service_api.get().items}
bad = set()
for ing in ingress_api.get().items:
    ns = ing.metadata.namespace
    for rule in ing.spec.rules or []:
        if not rule.http:
            continue
        for path in rule.http.paths:
            ref = path.backend.service
            if not ref:
                continue
            svc = services.get((ns, ref.name))
            if svc is None:
                continue
            port = ref.port.number if ref.port.number is not None else ref.port.name
            known = {p.port for p in svc.spec.ports or []} | {p.name for p in svc.spec.ports or [] if p.name}
            if port not in known:
                bad.add(f"{ns}/{ing.metadata.name} -> {ref.name}:{port}")
sorted(bad)
