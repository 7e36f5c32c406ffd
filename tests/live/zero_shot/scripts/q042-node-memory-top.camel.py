# question: q042-node-memory-top · style: camel · author: a JavaScript developer new to Python
core = k8s.coreV1()
nodes = {n["metadata"]["name"]: quantity(n["status"]["allocatable"]["memory"]) for n in core.listNode()["items"]}
requested = dict.fromkeys(nodes, 0)
for p in core.listPodForAllNamespaces()["items"]:
    nodeName = p["spec"].get("nodeName")
    if not nodeName or nodeName not in requested or p["status"].get("phase") in ["Succeeded", "Failed"]:
        continue
    for c in p["spec"]["containers"]:
        mem = c.get("resources", {}).get("requests", {}).get("memory")
        if mem:
            requested[nodeName] += quantity(mem)
best = max(nodes, key=lambda n: requested[n] / nodes[n])
[best, round(requested[best] / nodes[best] * 100, 1)]
