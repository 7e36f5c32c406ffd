# Custom resources: certificates that are not ready, or expire within two weeks.
import datetime

now = datetime.datetime.now(datetime.timezone.utc)
found = []
for cert in k8s.dynamic().resources.get(api_version="cert-manager.io/v1", kind="Certificate").get().items:
    expires = datetime.datetime.fromisoformat(cert.status.notAfter)
    ready = next((c["status"] for c in cert.status.conditions if c["type"] == "Ready"), "Unknown")
    if ready != "True" or (expires - now).days < 14:
        found.append((f"{cert.metadata.namespace}/{cert.metadata.name}", ready, (expires - now).days))
found
