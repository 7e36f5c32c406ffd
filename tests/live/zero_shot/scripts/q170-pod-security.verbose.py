# question: q170-pod-security · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict

LABEL = "pod-security.kubernetes.io/enforce"


def enforce_level(ns: Any) -> str:
    """The enforced pod security level or 'none'."""
    labels = ns.metadata.labels
    if not labels:
        return "none"
    return labels.get(LABEL, "none")


def main() -> Dict[str, str]:
    """Level by namespace, without kube-*."""
    return {
        ns.metadata.name: enforce_level(ns)
        for ns in k8s.coreV1().list_namespace().items
        if not ns.metadata.name.startswith("kube-")
    }


main()
