# question: q059-without-metrics · style: camel · author: a monitoring engineer
key = lambda o: f"{o['metadata']['namespace']}/{o['metadata']['name']}"
withMetrics = {key(m) for m in k8s.metricsV1beta1().listPodMetricsForAllNamespaces()["items"]}
running = k8s.coreV1().listPodForAllNamespaces(fieldSelector="status.phase=Running")["items"]
sorted(key(p) for p in running if key(p) not in withMetrics)
