# question: q040-host-ports · style: camel · author: a Node.js backend developer
ports = {}
for pod in k8s.coreV1().listPodForAllNamespaces().items:
    p = pod.to_dict()
    if p.get("spec", {}).get("hostNetwork"):
        continue
    claimed = [port["hostPort"]
               for c in p["spec"].get("containers", [])
               for port in c.get("ports", [])
               if port.get("hostPort")]
    if claimed:
        ports[f'{p["metadata"]["namespace"]}/{p["metadata"]["name"]}'] = sorted(set(claimed))
ports
