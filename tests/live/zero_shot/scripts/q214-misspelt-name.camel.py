import json

core = k8s.coreV1()
apps = k8s.appsV1()
net = k8s.networkingV1()
hpa = k8s.autoscalingV2()
pol = k8s.policyV1()

sources = {
    "Service": core.listServiceForAllNamespaces,
    "NetworkPolicy": net.listNetworkPolicyForAllNamespaces,
    "Deployment": apps.listDeploymentForAllNamespaces,
    "StatefulSet": apps.listStatefulSetForAllNamespaces,
    "Ingress": net.listIngressForAllNamespaces,
    "HorizontalPodAutoscaler": hpa.listHorizontalPodAutoscalerForAllNamespaces,
    "PodDisruptionBudget": pol.listPodDisruptionBudgetForAllNamespaces,
}

hits = []
for kind, lister in sources.items():
    try:
        objs = lister().items
    except Exception as e:
        print(f"{kind}: {e}")
        continue
    for o in objs:
        if "storefornt" in json.dumps(o.spec, default=str):
            hits.append(f"{kind}/{o.metadata.namespace}/{o.metadata.name}")

sorted(hits)
