# question: q067-generation-lag · style: functional · author: a functional Python programmer
lag = lambda d: d.metadata.generation - (d.status.observed_generation or 0)
pairs = ((f"{d.metadata.namespace}/{d.metadata.name}", lag(d))
         for d in k8s.appsV1().list_deployment_for_all_namespaces().items)
dict(filter(lambda kv: kv[1] > 0, pairs))
