v1 = k8s.coreV1()
ready = {n.metadata.name for n in v1.list_node()
         if any(c.type == "Ready" and c.status == "True" for c in n.status.conditions)}
crashing = [(p.metadata.name, cs.name)
            for p in v1.list_namespaced_pod("shop") if p.spec.node_name in ready
            for cs in p.status.container_statuses
            if cs.state.waiting and cs.state.waiting.reason == "CrashLoopBackOff"]
logs = k8s.parallel([lambda p=p, c=c: v1.read_namespaced_pod_log(p, "shop", container=c, tail_lines=1)
                     for p, c in crashing])
{p: log.rstrip("\r\n") for (p, c), log in zip(crashing, logs) if isinstance(log, str)}
