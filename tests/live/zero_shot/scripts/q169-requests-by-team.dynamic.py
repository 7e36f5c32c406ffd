# question: q169-requests-by-team · style: dynamic · author: a FinOps analyst
team_of = {n.metadata.name: (n.metadata.labels or {}).get("team", "unowned") for n in k8s.get("namespaces")}

totals = {}
for pod in k8s.get("pods"):
    if pod.status.phase in ["Succeeded", "Failed"]:
        continue
    team = team_of.get(pod.metadata.namespace, "unowned")
    for c in pod.spec.containers:
        cpu = c.resources.requests.cpu if c.resources and c.resources.requests else None
        if cpu:
            totals[team] = totals.get(team, 0) + quantity(cpu)

{team: round(cores, 2) for team, cores in totals.items() if cores > 0}
