# question: q094-headless · style: camel · author: a full-stack developer
counts = {}
for svc in k8s.coreV1().listServiceForAllNamespaces():
    if svc["spec"].get("clusterIP") == "None":
        ns = svc["metadata"]["namespace"]
        counts[ns] = counts.get(ns, 0) + 1
counts
