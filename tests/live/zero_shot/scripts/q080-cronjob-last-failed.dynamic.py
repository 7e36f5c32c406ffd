# question: q080-cronjob-last-failed · style: dynamic · author: a batch operator
cronjobs = k8s.get("cronjobs.batch")
jobs = k8s.get("jobs.batch")

failed = []
for cj in cronjobs:
    mine = [
        j for j in jobs
        if j.metadata.namespace == cj.metadata.namespace
        and any(o.kind == "CronJob" and o.name == cj.metadata.name and o.controller
                for o in j.metadata.ownerReferences or [])
        and j.status.startTime
    ]
    if not mine:
        continue
    last = max(mine, key=lambda j: j.status.startTime)
    if any(c.type == "Failed" and c.status == "True" for c in last.status.conditions or []):
        failed.append(f"{cj.metadata.namespace}/{cj.metadata.name}")
sorted(failed)
