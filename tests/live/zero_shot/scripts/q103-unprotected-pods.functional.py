# question: q103-unprotected-pods · style: functional · author: a security-minded functional programmer
from operator import contains

ops = {
    "In": lambda labels, e: labels.get(e.key) in (e.values or []),
    "NotIn": lambda labels, e: labels.get(e.key) not in (e.values or []),
    "Exists": lambda labels, e: contains(labels, e.key),
    "DoesNotExist": lambda labels, e: not contains(labels, e.key),
}


def matches(selector, labels):
    return (all(labels.get(k) == v for k, v in (selector.match_labels or {}).items())
            and all(ops[e.operator](labels, e) for e in selector.match_expressions or []))


selectors = [np.spec.pod_selector for np in k8s.networkingV1().list_namespaced_network_policy("payments").items]
pods = k8s.coreV1().list_namespaced_pod("payments").items
hits = [any(matches(s, p.metadata.labels or {}) for s in selectors) for p in pods]

{"selected": sum(hits), "unselected": len(hits) - sum(hits)}
