from collections import defaultdict
from kubernetes import client, config
from kubernetes.client.rest import ApiException

config.load_kube_config()
core_api = client.CoreV1Api()
net_api = client.NetworkingV1Api()


def selector_matches(selector, labels):
    """Evaluate a V1LabelSelector against a dict of labels."""
    labels = labels or {}
    if selector is None:
        return False
    for k, v in (selector.match_labels or {}).items():
        if labels.get(k) != v:
            return False
    for expr in selector.match_expressions or []:
        if expr.operator == "In":
            if labels.get(expr.key) not in expr.values:
                return False
        elif expr.operator == "NotIn":
            if expr.key in labels and labels[expr.key] in expr.values:
                return False
        elif expr.operator == "Exists":
            if expr.key not in labels:
                return False
        elif expr.operator == "DoesNotExist":
            if expr.key in labels:
                return False
    return True


namespaces = {ns.metadata.name: ns.metadata.labels or {} for ns in core_api.list_namespace().items}

result = {}
for ns in ("shop", "payments"):
    try:
        pods = core_api.list_namespaced_pod(ns).items
        policies = net_api.list_namespaced_network_policy(ns).items
    except ApiException as e:
        print(f"Exception for namespace {ns}: {e}")
        continue

    ingress_policies = [p for p in policies if "Ingress" in (p.spec.policy_types or ["Ingress"])]

    sources = defaultdict(set)
    is_open = {}
    for pod in pods:
        labels = pod.metadata.labels or {}
        app = labels.get("app")
        key = f"{ns}/{app}"
        # an empty podSelector selects every pod
        selecting = [
            p for p in ingress_policies
            if not p.spec.pod_selector or selector_matches(p.spec.pod_selector, labels)
        ]
        if not selecting:
            is_open[key] = True
            continue
        is_open.setdefault(key, False)
        for pol in selecting:
            for rule in pol.spec.ingress or []:
                for peer in rule._from or []:
                    if peer.namespace_selector is None:
                        continue
                    for other, ns_labels in namespaces.items():
                        if selector_matches(peer.namespace_selector, ns_labels):
                            sources[key].add(other)

    for key, opened in is_open.items():
        result[key] = ["*"] if opened else sorted(s for s in sources[key] if s != ns)

result
