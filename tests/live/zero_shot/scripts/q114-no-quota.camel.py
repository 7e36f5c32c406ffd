# question: q114-no-quota · style: camel · author: a TypeScript developer
core = k8s.coreV1()
withQuota = [q["metadata"]["namespace"] for q in core.listResourceQuotaForAllNamespaces().to_dict()["items"]]
names = [n["metadata"]["name"] for n in core.listNamespace().to_dict()["items"]]
sorted(n for n in names if n not in withQuota and n != "default" and not n.startswith("kube-"))
