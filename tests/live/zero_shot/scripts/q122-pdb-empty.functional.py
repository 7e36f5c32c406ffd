# question: q122-pdb-empty · style: functional · author: a logician
from functools import partial

pods = k8s.coreV1().list_pod_for_all_namespaces().items
subset = lambda want, have: all(have.get(k) == v for k, v in want.items())


def selects(pdb, pod):
    return (pod.metadata.namespace == pdb.metadata.namespace
            and subset(pdb.spec.selector.match_labels or {}, pod.metadata.labels or {}))


sorted(f"{b.metadata.namespace}/{b.metadata.name}"
       for b in k8s.policyV1().list_pod_disruption_budget_for_all_namespaces().items
       if not any(map(partial(selects, b), pods)))
