# question: q122-pdb-empty · style: camel · author: a JavaScript developer new to Python
pods = k8s.coreV1().listPodForAllNamespaces().get("items")
result = []
for pdb in k8s.policyV1().listPodDisruptionBudgetForAllNamespaces().get("items"):
    ns = pdb["metadata"]["namespace"]
    want = pdb.get("spec", {}).get("selector", {}).get("matchLabels", {})
    found = False
    for pod in pods:
        if pod["metadata"]["namespace"] != ns:
            continue
        labels = pod["metadata"].get("labels", {})
        if all(labels.get(k) == want[k] for k in want.keys()):
            found = True
            break
    if not found:
        result.append(ns + "/" + pdb["metadata"]["name"])
sorted(result)
