import json
from itertools import chain

core = k8s.coreV1()

def fetch(pod):
    return lambda: core.read_namespaced_pod_log(
        pod.metadata.name, "shop", container="orders", since_seconds=3600)

def parse(line):
    try:
        obj = json.loads(line)
    except ValueError:
        return None
    return obj if isinstance(obj, dict) else None

pods = core.list_namespaced_pod("shop", label_selector="app=orders").items
logs = filter(lambda r: not isinstance(r, Exception), k8s.parallel(list(map(fetch, pods))))
lines = chain.from_iterable(map(str.splitlines, logs))
errors = filter(lambda o: o and str(o.get("level", "")).lower() == "error", map(parse, lines))
dict(Counter(map(lambda o: o.get("upstream"), errors)))
