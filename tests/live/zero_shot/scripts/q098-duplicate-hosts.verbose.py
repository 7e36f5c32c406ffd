# question: q098-duplicate-hosts · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict, List, Set


def hosts_of(ingress: Any) -> Set[str]:
    """Distinct rule hosts of the ingress."""
    rules = ingress.spec.rules if ingress.spec and ingress.spec.rules else []
    return {rule.host for rule in rules if rule.host}


def main() -> Dict[str, List[str]]:
    """Hosts claimed by several ingresses."""
    claims: Dict[str, Set[str]] = {}
    for ingress in k8s.networkingV1().list_ingress_for_all_namespaces().items:
        path = f"{ingress.metadata.namespace}/{ingress.metadata.name}"
        for host in hosts_of(ingress):
            claims.setdefault(host, set()).add(path)
    return {host: sorted(paths) for host, paths in claims.items() if len(paths) > 1}


main()
