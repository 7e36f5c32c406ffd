# question: q004-image-pull-errors · style: camel · author: a JavaScript developer who thinks in JSON
pods = k8s.coreV1().listPodForAllNamespaces().to_dict()["items"]
result = {}
for pod in pods:
    meta = pod.get("metadata", {})
    specImages = {c["name"]: c.get("image")
                  for c in pod["spec"].get("containers", []) + pod["spec"].get("initContainers", [])}
    statuses = pod.get("status", {}).get("containerStatuses", []) + pod.get("status", {}).get("initContainerStatuses", [])
    for cs in statuses:
        reason = cs.get("state", {}).get("waiting", {}).get("reason")
        if reason in ("ImagePullBackOff", "ErrImagePull"):
            result[f"{meta['namespace']}/{meta['name']}/{cs['name']}"] = specImages.get(cs["name"])
result
