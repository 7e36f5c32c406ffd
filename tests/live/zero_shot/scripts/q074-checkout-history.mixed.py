# question: q074-checkout-history · style: mixed · author: a release engineer
REV = "deployment.kubernetes.io/revision"
apps = k8s.appsV1()
uid = apps.read_namespaced_deployment("checkout", "shop").metadata.uid
owned = (rs for rs in apps.list_namespaced_replica_set("shop") if any(o.uid == uid and o.controller for o in rs.metadata.owner_references))
{rs.metadata.annotations[REV]: rs.spec.template.spec.containers[0].image for rs in sorted(owned, key=lambda rs: int(rs.metadata.annotations[REV]))}
