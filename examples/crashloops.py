# Which containers crash, how often, and how they ended last time.
core = k8s.coreV1()
rows = []
for pod in core.list_pod_for_all_namespaces():
    for c in [*pod.status.init_container_statuses, *pod.status.container_statuses]:
        if c.state.waiting and c.state.waiting.reason == "CrashLoopBackOff":
            last = c.last_state.terminated
            rows.append(
                {
                    "pod": f"{pod.metadata.namespace}/{pod.metadata.name}",
                    "container": c.name,
                    "restarts": c.restart_count,
                    "exit": last.exit_code if last else None,
                    "why": last.reason if last else None,
                    "node": pod.spec.node_name,
                }
            )
sorted(rows, key=lambda r: -r["restarts"])[:10]
