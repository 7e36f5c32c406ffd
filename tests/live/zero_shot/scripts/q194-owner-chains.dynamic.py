from collections import Counter

dyn = k8s.dynamic()

KINDS = [
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("v1", "Node"),
]

by_uid = {}
for api_version, kind in KINDS:
    res = dyn.resources.get(api_version=api_version, kind=kind)
    for obj in res.get().items:
        by_uid[(kind, obj.metadata.uid)] = obj


def controller_of(obj):
    for ref in obj.metadata.ownerReferences or []:
        if ref.controller:
            return ref
    return None


def chain(pod):
    kinds = ["Pod"]
    cur = pod
    seen = set()
    while True:
        ref = controller_of(cur)
        if ref is None:
            break
        owner = by_uid.get((ref.kind, ref.uid))
        if owner is None:
            kinds.append(ref.kind + "?")
            break
        if ref.uid in seen:
            break
        seen.add(ref.uid)
        kinds.append(ref.kind)
        cur = owner
    return " > ".join(kinds)


pods = dyn.resources.get(api_version="v1", kind="Pod").get().items
dict(Counter(chain(p) for p in pods))
