import json

kinds = {
    "Service": lambda: k8s.coreV1().list_service_for_all_namespaces(),
    "NetworkPolicy": lambda: k8s.networkingV1().list_network_policy_for_all_namespaces(),
    "Deployment": lambda: k8s.appsV1().list_deployment_for_all_namespaces(),
    "StatefulSet": lambda: k8s.appsV1().list_stateful_set_for_all_namespaces(),
    "Ingress": lambda: k8s.networkingV1().list_ingress_for_all_namespaces(),
    "HorizontalPodAutoscaler": lambda: k8s.autoscalingV2().list_horizontal_pod_autoscaler_for_all_namespaces(),
    "PodDisruptionBudget": lambda: k8s.policyV1().list_pod_disruption_budget_for_all_namespaces(),
}

has_typo = lambda o: "storefornt" in json.dumps(o["spec"])

sorted([
    "/".join([kind, o["metadata"]["namespace"], o["metadata"]["name"]])
    for kind, fetch in kinds.items()
    for o in fetch()["items"]
    if has_typo(o)
])
