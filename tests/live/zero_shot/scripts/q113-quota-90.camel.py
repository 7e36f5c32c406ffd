# question: q113-quota-90 · style: camel · author: a tenant manager
rows = []
for q in k8s.coreV1().listResourceQuotaForAllNamespaces()["items"]:
    hard = q.get("status", {}).get("hard", {})
    used = q.get("status", {}).get("used", {})
    for resource, limit in hard.items():
        h = quantity(limit)
        u = quantity(used.get(resource, "0"))
        if h > 0 and u / h > 0.9:
            rows.append([f"{q['metadata']['namespace']}/{q['metadata']['name']}", resource, round(u / h * 100, 1)])
sorted(rows, key=lambda r: (r[0], r[1]))
