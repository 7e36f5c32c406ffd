# question: q032-failed-reasons · style: camel · author: a TypeScript developer
pods = k8s.coreV1().listPodForAllNamespaces(fieldSelector="status.phase=Failed").to_dict()["items"]
reasons = {}
for pod in pods:
    reason = pod["status"].get("reason") or "none"
    reasons[reason] = reasons.get(reason, 0) + 1
reasons
