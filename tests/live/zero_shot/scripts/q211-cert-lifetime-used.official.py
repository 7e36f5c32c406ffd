from datetime import datetime, timezone
from kubernetes import client, config

config.load_kube_config()
custom = client.CustomObjectsApi()

certs = custom.list_cluster_custom_object(group="cert-manager.io", version="v1", plural="certificates")


def parse(ts):
    return datetime.strptime(ts, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)


now = datetime.now(timezone.utc)
rows = []
for cert in certs["items"]:
    status = cert.get("status", {})
    not_before = status.get("notBefore")
    not_after = status.get("notAfter")
    if not not_before or not not_after:
        continue
    start, end = parse(not_before), parse(not_after)
    share = (now - start).total_seconds() / (end - start).total_seconds()
    if share > 2 / 3:
        name = f"{cert['metadata']['namespace']}/{cert['metadata']['name']}"
        rows.append((share, name))

rows.sort(key=lambda r: (-r[0], r[1]))
[[name, round(share * 100, 1)] for share, name in rows]
