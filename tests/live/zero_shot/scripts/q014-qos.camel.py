# question: q014-qos · style: camel · author: a JavaScript developer new to Python
counts = {}
for pod in k8s.coreV1().listPodForAllNamespaces()["items"]:
    qos = pod["status"].get("qosClass", "unknown")
    counts[qos] = counts.get(qos, 0) + 1
counts
