# question: q170-pod-security · style: dynamic · author: a policy admin
LABEL = "pod-security.kubernetes.io/enforce"
{
    ns.metadata.name: ns.metadata.labels.get(LABEL, "none")
    for ns in k8s.get("namespaces")
    if not ns.metadata.name.startswith("kube-")
}
