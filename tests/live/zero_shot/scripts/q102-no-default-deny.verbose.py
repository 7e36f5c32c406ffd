# question: q102-no-default-deny · style: verbose · author: a careful enterprise engineer
from typing import Any, List, Set


def is_empty_selector(selector: Any) -> bool:
    """True if the label selector selects everything."""
    if selector is None:
        return True
    match_labels = getattr(selector, "match_labels", None)
    match_expressions = getattr(selector, "match_expressions", None)
    return not match_labels and not match_expressions


def is_default_deny_ingress(policy: Any) -> bool:
    """True if the policy denies all ingress traffic for the namespace."""
    spec = policy.spec
    if not is_empty_selector(spec.pod_selector):
        return False
    if "Ingress" not in (spec.policy_types or []):
        return False
    return not spec.ingress


def main() -> List[str]:
    """Namespaces with pods but without default-deny."""
    pod_namespaces: Set[str] = {
        p.metadata.namespace for p in k8s.coreV1().list_pod_for_all_namespaces().items
    }
    protected: Set[str] = {
        np.metadata.namespace
        for np in k8s.networkingV1().list_network_policy_for_all_namespaces().items
        if is_default_deny_ingress(np)
    }
    return sorted(pod_namespaces - protected)


main()
