# question: q039-long-grace · style: terse · author: an SRE who likes one-liners
a = k8s.appsV1()
{f"{o.metadata.namespace}/{kind}/{o.metadata.name}": g
 for kind, lst in (("Deployment", a.list_deployment_for_all_namespaces()), ("StatefulSet", a.list_stateful_set_for_all_namespaces()))
 for o in lst.items if (g := o.spec.template.spec.termination_grace_period_seconds or 30) > 120}
