# question: q095-shop-endpoints · style: camel · author: a service-mesh user
result = {s["metadata"]["name"]: 0 for s in k8s.coreV1().listNamespacedService("shop")["items"]}
for sl in k8s.discoveryV1().listNamespacedEndpointSlice("shop")["items"]:
    name = sl["metadata"].get("labels", {}).get("kubernetes.io/service-name")
    if name not in result:
        continue
    for ep in sl.get("endpoints") or []:
        if ep.get("conditions", {}).get("ready") is True:
            result[name] += len(ep.get("addresses", []))
result
