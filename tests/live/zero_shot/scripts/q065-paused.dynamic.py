# question: q065-paused · style: dynamic · author: an operator developer
deps = k8s.get("deployments.apps")
sorted(f"{d['metadata']['namespace']}/{d['metadata']['name']}" for d in deps if d.spec.get("paused", False))
