# question: q076-statefulset-service · style: camel · author: a developer porting a JS script
services = set()
for svc in k8s.coreV1().listServiceForAllNamespaces().get("items", []):
    services.add((svc["metadata"]["namespace"], svc["metadata"]["name"]))

missing = {}
for sts in k8s.appsV1().listStatefulSetForAllNamespaces().get("items", []):
    ns, name = sts["metadata"]["namespace"], sts["metadata"]["name"]
    serviceName = sts.get("spec", {}).get("serviceName")
    if serviceName and (ns, serviceName) not in services:
        missing[f"{ns}/{name}"] = serviceName
missing
