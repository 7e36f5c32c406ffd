# question: q006-oom-killed · style: camel · author: a JavaScript developer new to Python
pods = k8s.coreV1().listPodForAllNamespaces()
out = []
for pod in pods["items"]:
    meta = pod["metadata"]
    for cs in pod.get("status", {}).get("containerStatuses", []):
        for key in ("state", "lastState"):
            term = (cs.get(key) or {}).get("terminated") or {}
            if term.get("reason") == "OOMKilled":
                out.append(f'{meta["namespace"]}/{meta["name"]}/{cs["name"]}')
                break
sorted(out)
