# question: q146-certs-30-days · style: mixed · author: a platform engineer writing a small script
from datetime import datetime, timezone

now = datetime.now(timezone.utc)


def expiring(within):
    for c in k8s.get("certificates.cert-manager.io"):
        if not c.status.notAfter:
            continue
        left = datetime.fromisoformat(c.status.notAfter) - now
        if left < within:
            yield left, f"{c.metadata.namespace}/{c.metadata.name}"


[[name, left // timedelta(days=1)] for left, name in sorted(expiring(timedelta(days=30)))]
