from kubernetes import client
co = client.CustomObjectsApi()

certs = {}
for c in co.list_cluster_custom_object("cert-manager.io", "v1", "certificates")["items"]:
    certs[(c["metadata"]["namespace"], c["spec"].get("secretName"))] = c

result = {}
for ing in k8s.networkingV1().list_ingress_for_all_namespaces().items:
    tls = getattr(ing.spec, "tls", None) or []
    if not tls:
        continue
    ns = ing.metadata.namespace
    cert = certs.get((ns, tls[0].secret_name))
    if cert is None:
        state = "none"
    else:
        ready = next((x for x in cert.get("status", {}).get("conditions", []) if x["type"] == "Ready"), {})
        state = "Ready" if ready.get("status") == "True" else ready.get("reason")
    result[f"{ns}/{ing.metadata.name}"] = state
result
