# question: q151-apps-missing-namespace · style: dynamic · author: a GitOps engineer
namespaces = {n.metadata.name for n in k8s.get("namespaces")}
apps = k8s.get("applications.argoproj.io")
{
    a.metadata.name: a.spec.destination.namespace
    for a in apps
    if a.spec.destination.namespace and a.spec.destination.namespace not in namespaces
}
