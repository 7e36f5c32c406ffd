# question: q176-selector-count · style: functional · author: a selector fan
selector = ",".join(["tier in (frontend, backend)", "!canary"])
sum(1 for _ in k8s.coreV1().list_pod_for_all_namespaces(label_selector=selector).items)
