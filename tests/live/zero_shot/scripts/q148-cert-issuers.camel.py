# question: q148-cert-issuers · style: camel · author: a cert-manager user
co = k8s.customObjects()
certs = co.listClusterCustomObject("cert-manager.io", "v1", "certificates")["items"]
issuers = {(i["metadata"]["namespace"], i["metadata"]["name"])
           for i in co.listClusterCustomObject("cert-manager.io", "v1", "issuers")["items"]}
clusterIssuers = {i["metadata"]["name"]
                  for i in co.listClusterCustomObject("cert-manager.io", "v1", "clusterissuers")["items"]}

broken = {}
for cert in certs:
    ns = cert["metadata"]["namespace"]
    ref = cert.get("spec", {}).get("issuerRef", {})
    kind = ref.get("kind", "Issuer")
    ok = ref["name"] in clusterIssuers if kind == "ClusterIssuer" else (ns, ref["name"]) in issuers
    if not ok:
        broken[f"{ns}/{cert['metadata']['name']}"] = f"{kind}/{ref['name']}"
broken
