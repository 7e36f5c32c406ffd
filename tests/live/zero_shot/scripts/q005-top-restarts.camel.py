# question: q005-top-restarts · style: camel · author: a Node developer
pods = k8s.coreV1().listPodForAllNamespaces().get("items")
rows = []
for p in pods:
    restarts = sum(cs.get("restartCount", 0) for cs in p.get("status", {}).get("containerStatuses", []))
    rows.append([f"{p['metadata']['namespace']}/{p['metadata']['name']}", restarts])
rows.sort(key=lambda r: (-r[1], r[0]))
rows[:5]
