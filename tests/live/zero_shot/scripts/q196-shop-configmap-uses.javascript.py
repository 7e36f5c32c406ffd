import json
from functools import reduce

apps = k8s.appsV1()
to_json = lambda o: json.loads(json.dumps(o))

workloads = [
    *[{"kind": "Deployment", "obj": to_json(d)} for d in apps.list_namespaced_deployment("shop").items],
    *[{"kind": "StatefulSet", "obj": to_json(s)} for s in apps.list_namespaced_stateful_set("shop").items],
]

arr = lambda o, k: (o or {}).get(k) or []

def uses(w):
    spec = w["obj"]["spec"]["template"]["spec"]
    id_ = f'{w["kind"]}/{w["obj"]["metadata"]["name"]}'
    cs = [*arr(spec, "containers"), *arr(spec, "initContainers")]
    vols = arr(spec, "volumes")
    return [
        *[(e["valueFrom"]["configMapKeyRef"]["name"], f"{id_}:env")
          for c in cs for e in arr(c, "env") if (e.get("valueFrom") or {}).get("configMapKeyRef")],
        *[(e["configMapRef"]["name"], f"{id_}:envFrom")
          for c in cs for e in arr(c, "envFrom") if e.get("configMapRef")],
        *[(v["configMap"]["name"], f"{id_}:volume") for v in vols if v.get("configMap")],
        *[(s["configMap"]["name"], f"{id_}:projected")
          for v in vols for s in arr(v.get("projected"), "sources") if s.get("configMap")],
    ]

pairs = reduce(lambda acc, w: acc + uses(w), workloads, [])
grouped = reduce(lambda acc, p: {**acc, p[0]: [*acc.get(p[0], []), p[1]]}, pairs, {})
{k: sorted(set(v)) for k, v in grouped.items()}
