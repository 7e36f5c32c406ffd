coreApi = k8s.coreV1()
result = {}
podList = coreApi.listNamespacedPod("shop", labelSelector="app=search")
for pod in podList.items:
    podName = pod.metadata.name
    try:
        logText = coreApi.readNamespacedPodLog(podName, "shop", container="search", sinceSeconds=3600)
    except Exception as err:
        print(f"{podName}: {err}")
        continue
    result[podName] = len(logText.splitlines()) if logText else 0
result
