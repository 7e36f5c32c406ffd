# Which other namespaces may reach the pods of shop and payments?
from typing import Any, Dict, List, Set
from kubernetes.client.rest import ApiException

TARGET_NAMESPACES = ["shop", "payments"]

core_v1 = k8s.coreV1()
net_v1 = k8s.networkingV1()


def selector_matches(selector: Any, labels: Dict[str, str]) -> bool:
    """Evaluate a LabelSelector (matchLabels and matchExpressions)."""
    labels = labels or {}
    if not selector:
        return True
    for key, value in (selector.match_labels or {}).items():
        if labels.get(key) != value:
            return False
    for expr in selector.match_expressions or []:
        key = expr.key
        values = expr.values or []
        if expr.operator == "In":
            if key not in labels or labels[key] not in values:
                return False
        elif expr.operator == "NotIn":
            if key in labels and labels[key] in values:
                return False
        elif expr.operator == "Exists":
            if key not in labels:
                return False
        elif expr.operator == "DoesNotExist":
            if key in labels:
                return False
        else:
            raise ValueError("unknown operator " + str(expr.operator))
    return True


# Collect the labels of all namespaces
namespace_labels: Dict[str, Dict[str, str]] = {}
for ns_obj in core_v1.list_namespace().items:
    namespace_labels[ns_obj.metadata.name] = dict(ns_obj.metadata.labels or {})

result: Dict[str, List[str]] = {}

for ns in TARGET_NAMESPACES:
    try:
        policies = net_v1.list_namespaced_network_policy(ns).items
        pods = core_v1.list_namespaced_pod(ns).items
    except ApiException as e:
        print("failed for namespace", ns, e.status, e.reason)
        continue

    # Only policies for ingress traffic count
    ingress_policies = []
    for pol in policies:
        if "Ingress" in (pol.spec.policy_types or []):
            ingress_policies.append(pol)

    # One representative pod per app is enough
    pod_by_app: Dict[str, Any] = {}
    for pod in pods:
        app = (pod.metadata.labels or {}).get("app")
        if app is None:
            continue
        if app not in pod_by_app:
            pod_by_app[app] = pod

    for app, pod in pod_by_app.items():
        labels = dict(pod.metadata.labels or {})
        selecting = [p for p in ingress_policies if selector_matches(p.spec.pod_selector, labels)]
        key = f"{ns}/{app}"
        if not selecting:
            result[key] = ["*"]
            continue
        sources: Set[str] = set()
        for pol in selecting:
            for rule in pol.spec.ingress or []:
                # the attribute is called _from in the Python client ("from" is a keyword)
                for peer in rule._from or []:
                    if peer.namespace_selector is None and "namespaceSelector" not in peer:
                        continue
                    for other, other_labels in namespace_labels.items():
                        if selector_matches(peer.namespace_selector, other_labels):
                            sources.add(other)
        result[key] = sorted(sources)

result
