# question: q096-ingress-missing-service · style: camel · author: a JavaScript developer new to Python
ingresses = k8s.networkingV1().listIngressForAllNamespaces()["items"]
services = {(s["metadata"]["namespace"], s["metadata"]["name"]) for s in k8s.coreV1().listServiceForAllNamespaces()["items"]}
result = set()
for ing in ingresses:
    ns = ing["metadata"]["namespace"]
    for rule in ing["spec"].get("rules", []):
        for path in rule.get("http", {}).get("paths", []):
            svc = path.get("backend", {}).get("service", {}).get("name")
            if svc and (ns, svc) not in services:
                result.add(f"{ns}/{ing['metadata']['name']} -> {svc}")
sorted(result)
