v1 = k8s.coreV1()
newest = {}
for p in v1.list_namespaced_pod("shop", label_selector="app=redis"):
    for c in p.spec.containers:
        try:
            log = v1.read_namespaced_pod_log(p.metadata.name, "shop", container=c.name, timestamps=True, tail_lines=1)
        except Exception:
            continue
        if log.strip():
            ts = log.strip().splitlines()[-1].split(" ", 1)[0][:19] + "Z"
            newest[p.metadata.name] = max(ts, newest.get(p.metadata.name, ""))
newest
