# question: q167-missing-labels · style: camel · author: a label policeman
REQUIRED = ["app.kubernetes.io/name", "app.kubernetes.io/version", "team"]
lacking = {}
for d in k8s.appsV1().listDeploymentForAllNamespaces()["items"]:
    labels = d["metadata"].get("labels", {})
    miss = [l for l in REQUIRED if l not in labels.keys()]
    if len(miss):
        lacking[f'{d["metadata"]["namespace"]}/{d["metadata"]["name"]}'] = sorted(miss)
lacking
