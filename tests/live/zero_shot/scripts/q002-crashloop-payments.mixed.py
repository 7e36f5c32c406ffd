# question: q002-crashloop-payments · style: mixed · author: an on-call engineer
def crashing(pod):
    return any(cs.state.waiting and cs.state.waiting.reason == "CrashLoopBackOff" for cs in pod.status.container_statuses or [])


sorted(p.metadata.name for p in filter(crashing, k8s.coreV1().list_namespaced_pod("payments")))
