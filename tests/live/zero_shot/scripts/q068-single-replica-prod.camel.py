# question: q068-single-replica-prod · style: camel · author: a TypeScript developer
prod = [n["metadata"]["name"] for n in k8s.coreV1().listNamespace(labelSelector="env=prod")["items"]]
out = []
for ns in prod:
    for d in k8s.appsV1().listNamespacedDeployment(ns)["items"]:
        if d["spec"].get("replicas", 1) == 1:
            out.append(f"{ns}/{d['metadata']['name']}")
sorted(out)
