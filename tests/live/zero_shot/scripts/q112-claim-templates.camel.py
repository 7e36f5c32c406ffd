# question: q112-claim-templates · style: camel · author: a developer who prefers plain dicts
GiB = 1024 ** 3
result = {}
for s in k8s.appsV1().listStatefulSetForAllNamespaces().to_dict().get("items"):
    templates = s.get("spec").get("volumeClaimTemplates") or []
    if not templates:
        continue
    total = 0
    for t in templates:
        total += quantity(t.get("spec", {}).get("resources", {}).get("requests", {}).get("storage", "0"))
    result[s["metadata"]["namespace"] + "/" + s["metadata"]["name"]] = int(total / GiB)
result
