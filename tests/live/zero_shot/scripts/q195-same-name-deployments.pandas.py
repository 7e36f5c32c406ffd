from itertools import groupby
from operator import itemgetter

records = [
    {
        "name": d.metadata.name,
        "namespace": d.metadata.namespace,
        "replicas": d.spec.replicas,
        "tag": d.spec.template.spec.containers[0].image.rsplit(":", 1)[-1],
        "ready": d.status.ready_replicas or 0,
    }
    for d in k8s.appsV1().list_deployment_for_all_namespaces().items
]

records.sort(key=itemgetter("name", "namespace"))
out = {}
for name, grp in groupby(records, key=itemgetter("name")):
    grp = list(grp)
    if len({r["namespace"] for r in grp}) >= 2:
        out[name] = {r["namespace"]: [r["replicas"], r["tag"], r["ready"]] for r in grp}
out
