# Custom resources: certificates that are not ready, or expire within two weeks.
import datetime

now = datetime.datetime.now(datetime.timezone.utc)
found = []
for cert in k8s.dynamic().resources.get(api_version="cert-manager.io/v1", kind="Certificate").get().items:
    status = cert.status or {}  # a certificate that nobody has looked at yet has none
    conditions = status.get("conditions") or []
    ready = next((c.get("status") for c in conditions if c.get("type") == "Ready"), "Unknown")
    expires = status.get("notAfter")  # absent until the first certificate is issued
    days = (datetime.datetime.fromisoformat(expires) - now).days if expires else None
    if ready != "True" or days is None or days < 14:
        found.append((f"{cert.metadata.namespace}/{cert.metadata.name}", ready, days))
found
