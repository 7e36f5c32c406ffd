# question: q050-zone-cores · style: camel · author: a JavaScript developer new to Python
zones = {}
for node in k8s.coreV1().listNode()["items"]:
    zone = node["metadata"]["labels"].get("topology.kubernetes.io/zone")
    if zone is None:
        continue
    zones[zone] = zones.get(zone, 0) + quantity(node["status"]["allocatable"]["cpu"])
{z: round(v, 2) for z, v in zones.items()}
