# question: q147-certs-not-ready · style: terse · author: an SRE who likes one-liners
{f"{c.metadata.namespace}/{c.metadata.name}": (r.reason if r else None) for c in k8s.get("certificates.cert-manager.io")
 if (r := next((x for x in c.status.conditions if x.type == "Ready"), None)) is None or r.status != "True"}
