# question: q121-pdb-blocking · style: functional · author: a comprehension lover
blocks = lambda s: s.disruptions_allowed == 0 and (s.expected_pods or 0) > 0
sorted([
    "/".join((b.metadata.namespace, b.metadata.name))
    for b in k8s.policyV1().list_pod_disruption_budget_for_all_namespaces().items
    if blocks(b.status)
])
