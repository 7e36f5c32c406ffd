# question: q081-suspended-cronjobs · style: dynamic · author: an operator developer
{f"{c.metadata.namespace}/{c.metadata.name}": c.spec.schedule for c in k8s.get("cronjobs.batch") if c.spec.suspend}
