# question: q075-statefulset-updates · style: terse · author: an SRE who likes one-liners
{f"{s.metadata.namespace}/{s.metadata.name}": f"{s.status.updated_replicas or 0}/{s.spec.replicas}"
 for s in k8s.appsV1().list_stateful_set_for_all_namespaces() if s.status.current_revision != s.status.update_revision}
