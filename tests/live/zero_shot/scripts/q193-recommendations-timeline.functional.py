from datetime import datetime, timezone
from functools import partial
from operator import attrgetter

NS, NAME = "shop", "recommendations"
EPOCH = datetime.min.replace(tzinfo=timezone.utc)

apps, core = k8s.appsV1(), k8s.coreV1()


def controller(obj):
    return next(filter(attrgetter("controller"), obj.metadata.owner_references or []), None)


def controlled_by(uids, obj):
    ref = controller(obj)
    return ref is not None and ref.uid in uids


dep = apps.read_namespaced_deployment(NAME, NS)
rss = list(filter(partial(controlled_by, {dep.metadata.uid}), apps.list_namespaced_replica_set(NS).items))
pods = list(filter(partial(controlled_by, set(map(lambda r: r.metadata.uid, rss))), core.list_namespaced_pod(NS).items))

wanted = {("Deployment", NAME)}
wanted |= set(map(lambda r: ("ReplicaSet", r.metadata.name), rss))
wanted |= set(map(lambda p: ("Pod", p.metadata.name), pods))

events = filter(
    lambda e: (e.involved_object.kind, e.involved_object.name) in wanted,
    core.list_namespaced_event(NS).items,
)


def obj_key(e):
    return f"{e.involved_object.kind}/{e.involved_object.name}"


ordered = sorted(events, key=lambda e: (e.last_timestamp or EPOCH, obj_key(e), e.reason or ""))

list(map(lambda e: [obj_key(e), e.reason, int(e.count or 1)], ordered))
