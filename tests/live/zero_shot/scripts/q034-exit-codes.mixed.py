# question: q034-exit-codes · style: mixed · author: a quick shell-minded SRE
Counter(
    str(t.exit_code)
    for p in k8s.coreV1().list_pod_for_all_namespaces()
    for cs in p.status.container_statuses
    if (t := cs.last_state.terminated) is not None
)
