ingresses = k8s.get("ingresses.networking.k8s.io")
certs = k8s.get("certificates.cert-manager.io")

by_secret = {}
for c in certs:
    by_secret[(c["metadata"]["namespace"], c["spec"]["secretName"])] = c

result = {}
for ing in ingresses:
    tls = ing["spec"].get("tls") or []
    if not tls:
        continue
    ns = ing["metadata"]["namespace"]
    cert = by_secret.get((ns, tls[0].get("secretName")))
    if cert is None:
        answer = "none"
    else:
        conds = (cert.get("status") or {}).get("conditions") or []
        ready = next((c for c in conds if c["type"] == "Ready"), None)
        if ready is None:
            answer = "Unknown"
        elif ready["status"] == "True":
            answer = "Ready"
        else:
            answer = ready.get("reason")
    result[f"{ns}/{ing['metadata']['name']}"] = answer

result
