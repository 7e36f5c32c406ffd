# question: q077-daemonset-gaps · style: camel · author: a JSON-first developer
gaps = {}
for ds in k8s.appsV1().listDaemonSetForAllNamespaces().toDict()["items"]:
    st = ds.get("status", {})
    missing = st.get("desiredNumberScheduled", 0) - st.get("numberReady", 0)
    if missing > 0:
        gaps[ds["metadata"]["namespace"] + "/" + ds["metadata"]["name"]] = missing
gaps
