# question: q041-nodes-cpu-80 · style: camel · author: a capacity planner who writes JS by day
core = k8s.coreV1()
requested = {}
for pod in core.listPodForAllNamespaces()["items"]:
    nodeName = pod["spec"].get("nodeName")
    if not nodeName or pod["status"].get("phase") in ("Succeeded", "Failed"):
        continue
    for c in pod["spec"]["containers"]:
        requested[nodeName] = requested.get(nodeName, 0) + quantity(c.get("resources", {}).get("requests", {}).get("cpu", "0"))

percent = {}
for node in core.listNode()["items"]:
    name = node["metadata"]["name"]
    pct = 100 * requested.get(name, 0) / quantity(node["status"]["allocatable"]["cpu"])
    if pct > 80:
        percent[name] = round(pct, 1)
percent
