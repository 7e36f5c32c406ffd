# question: q116-hpa-at-max · style: dynamic · author: an autoscaling expert
api = k8s.dynamic().resources.get(api_version="autoscaling/v2", kind="HorizontalPodAutoscaler")
sorted(f"{h.metadata.namespace}/{h.metadata.name}" for h in api.get().items
       if h.status.currentReplicas == h.spec.maxReplicas)
