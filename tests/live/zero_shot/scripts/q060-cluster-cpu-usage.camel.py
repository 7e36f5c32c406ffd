# question: q060-cluster-cpu-usage · style: camel · author: a JavaScript developer new to Python
metrics = k8s.metricsV1beta1().listNodeMetrics()
round(sum(quantity(m["usage"]["cpu"]) for m in metrics["items"]), 2)
