# question: q146-certs-30-days · style: official · author: a PKI engineer with CustomObjectsApi
from datetime import datetime, timezone
import math

from kubernetes import client, config
from kubernetes.client.rest import ApiException

config.load_kube_config()
api = client.CustomObjectsApi()

try:
    certs = api.list_cluster_custom_object(group="cert-manager.io", version="v1", plural="certificates")["items"]
except ApiException as e:
    print(f"cannot list certificates: {e.status} {e.reason}")
    certs = []

now = datetime.now(timezone.utc)
rows = []
for cert in certs:
    not_after = cert.get("status", {}).get("notAfter")
    if not not_after:
        continue
    expires = datetime.strptime(not_after, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    left = (expires - now).total_seconds() / 86400
    if left <= 30:
        rows.append((expires, f"{cert['metadata']['namespace']}/{cert['metadata']['name']}", math.floor(left)))
rows.sort()
[[name, days] for _, name, days in rows]
