# question: q071-mixed-replicasets · style: terse · author: an SRE who likes one-liners
{k: n for k, n in Counter(f"{r.metadata.namespace}/{o.name}" for r in k8s.appsV1().list_replica_set_for_all_namespaces().items if (r.spec.replicas or 0) > 0
                          for o in r.metadata.owner_references or [] if o.controller and o.kind == "Deployment").items() if n > 1}
