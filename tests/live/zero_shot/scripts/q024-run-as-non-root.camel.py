# question: q024-run-as-non-root · style: camel · author: a TypeScript developer
deployments = k8s.appsV1().list_namespaced_deployment("payments").to_dict()
out = []
for d in deployments["items"]:
    podSpec = d["spec"]["template"]["spec"]
    podLevel = (podSpec.get("securityContext") or {}).get("runAsNonRoot")
    for c in podSpec["containers"]:
        own = (c.get("securityContext") or {}).get("runAsNonRoot")
        effective = podLevel if own is None else own
        if effective is not True:
            out.append(d["metadata"]["name"] + "/" + c["name"])
sorted(out)
