# question: q164-anti-affinity · style: mixed · author: a platform engineer
def keys(dep):
    anti = dep.spec.template.spec.affinity and dep.spec.template.spec.affinity.pod_anti_affinity
    if not anti:
        return []
    return sorted({t.topology_key for t in anti.required_during_scheduling_ignored_during_execution or []})


{f"{d.metadata.namespace}/{d.metadata.name}": k for d in k8s.appsV1().list_deployment_for_all_namespaces() if (k := keys(d))}
