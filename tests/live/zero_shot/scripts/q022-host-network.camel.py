# question: q022-host-network · style: camel · author: a TypeScript developer
const_ns = "kube-system"
pods = k8s.coreV1().listPodForAllNamespaces()["items"]
sorted(
    p["metadata"]["namespace"] + "/" + p["metadata"]["name"]
    for p in pods
    if p["spec"].get("hostNetwork", False) is True and p["metadata"]["namespace"] != const_ns
)
