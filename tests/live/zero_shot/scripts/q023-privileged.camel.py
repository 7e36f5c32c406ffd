# question: q023-privileged · style: camel · author: a security-minded JS developer
result = {}
for pod in k8s.coreV1().listPodForAllNamespaces()["items"]:
    spec = pod["spec"]
    containers = spec.get("containers", []) + spec.get("initContainers", [])
    if any(c.get("securityContext", {}).get("privileged") for c in containers):
        ns = pod["metadata"]["namespace"]
        result[ns] = result.get(ns, 0) + 1
result
