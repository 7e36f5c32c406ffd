# question: q070-max-unavailable · style: mixed · author: a model that has just read the tool's examples
out = {}
for d in k8s.appsV1().list_namespaced_deployment("shop"):
    if d.spec.strategy.type != "RollingUpdate":
        continue
    replicas = d.spec.replicas if d.spec.replicas is not None else 1
    ru = d.spec.strategy.rolling_update
    match (ru.max_unavailable if ru else None):
        case int(n):
            out[d.metadata.name] = n
        case str(s) if s.endswith("%"):
            out[d.metadata.name] = replicas * int(s[:-1]) // 100
        case str(s):
            out[d.metadata.name] = int(s)
        case None:
            out[d.metadata.name] = replicas * 25 // 100
out
