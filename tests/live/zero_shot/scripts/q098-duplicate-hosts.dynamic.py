# question: q098-duplicate-hosts · style: dynamic · author: an ingress admin
hosts = defaultdict(set)
for ing in k8s.get("ingresses.networking.k8s.io"):
    for rule in ing.spec.rules or []:
        if rule.host:
            hosts[rule.host].add(f"{ing.metadata.namespace}/{ing.metadata.name}")
{h: sorted(v) for h, v in hosts.items() if len(v) > 1}
