# question: q099-ingress-no-tls · style: dynamic · author: an operator developer used to the DynamicClient
api = k8s.dynamic().resources.get(api_version="networking.k8s.io/v1", kind="Ingress")
out = []
for ing in api.get().items:
    covered = set()
    for tls in ing.spec.tls or []:
        covered |= set(tls.hosts or [])
    hosts = {r.host for r in ing.spec.rules or [] if r.host}
    if hosts - covered:
        out.append(ing.metadata.namespace + "/" + ing.metadata.name)
sorted(out)
