# question: q162-storefront-zones · style: mixed · author: a platform engineer writing a small script
ZONE = "topology.kubernetes.io/zone"
v1 = k8s.coreV1()


def main():
    nodes, pods = k8s.parallel([
        lambda: v1.list_node(),
        lambda: v1.list_namespaced_pod("shop", label_selector="app=storefront", field_selector="status.phase=Running"),
    ])
    zone_of = {n.metadata.name: n.metadata.labels[ZONE] for n in nodes if ZONE in n.metadata.labels}
    zones = {z: 0 for z in zone_of.values()}
    for pod in pods:
        if z := zone_of.get(pod.spec.node_name):
            zones[z] += 1
    return {"zones": zones, "skew": max(zones.values()) - min(zones.values())}


if __name__ == "__main__":
    result = main()
result
