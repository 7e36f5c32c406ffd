# /// runbook
# description = "Restarts a Deployment of a team, if its last rollout has ended"
#
# [arguments.namespace]
# type = "string"
# description = "the team's namespace"
# pattern = "team-[a-z0-9-]{1,40}"
#
# [arguments.name]
# type = "string"
# description = "the Deployment"
#
# [arguments.force]
# type = "boolean"
# description = "restart it in the middle of a rollout, too"
# default = false
# ///
deployment = k8s.appsV1().read_namespaced_deployment(name, namespace)
wanted = deployment.spec.replicas
updated = deployment.status.updated_replicas or 0
if updated < wanted and not force:
    raise ValueError(f"a rollout is under way: {updated} of {wanted} pods are new")
k8s.restart(deployment)
{"restarts": f"{namespace}/{name}", "pods": wanted}
