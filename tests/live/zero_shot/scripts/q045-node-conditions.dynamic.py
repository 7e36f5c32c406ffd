# question: q045-node-conditions · style: dynamic · author: an operator developer
bad = {}
for node in k8s.get("nodes"):
    types = []
    for cond in node.status.conditions:
        wanted = "True" if cond.type == "Ready" else "False"
        if cond.status != wanted:
            types.append(cond.type)
    if types:
        bad[node.metadata.name] = sorted(types)
bad
