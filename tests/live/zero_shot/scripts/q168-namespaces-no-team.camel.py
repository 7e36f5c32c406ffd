# question: q168-namespaces-no-team · style: camel · author: a JavaScript developer new to Python
result = []
for ns in k8s.coreV1().listNamespace()["items"]:
    name = ns["metadata"]["name"]
    if name == "default" or name.startswith("kube-"):
        continue
    if "team" not in ns["metadata"].get("labels", {}):
        result.append(name)
result.sort()
result
