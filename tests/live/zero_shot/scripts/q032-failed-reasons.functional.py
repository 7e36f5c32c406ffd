# question: q032-failed-reasons · style: functional · author: a map/filter person
failed = filter(lambda p: p.status.phase == "Failed", k8s.coreV1().list_pod_for_all_namespaces().items)
reasons = [*map(lambda p: p.status.reason or "none", failed)]
{r: reasons.count(r) for r in set(reasons)}
