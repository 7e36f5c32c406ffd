# question: q058-near-memory-limit · style: camel · author: a frontend developer who also runs the cluster
metrics = k8s.metricsV1beta1().listPodMetricsForAllNamespaces()
pods = k8s.coreV1().listPodForAllNamespaces()

limits = {}
for pod in pods["items"]:
    for c in pod["spec"]["containers"]:
        lim = c.get("resources", {}).get("limits", {}).get("memory")
        if lim:
            limits[(pod["metadata"]["namespace"], pod["metadata"]["name"], c["name"])] = quantity(lim)

hot = []
for m in metrics["items"]:
    for c in m["containers"]:
        key = (m["metadata"]["namespace"], m["metadata"]["name"], c["name"])
        limit = limits.get(key)
        if not limit:
            continue
        pct = quantity(c["usage"]["memory"]) / limit * 100
        if pct > 90:
            hot.append(["/".join(key), round(pct, 1)])
sorted(hot, key=lambda row: -row[1])
