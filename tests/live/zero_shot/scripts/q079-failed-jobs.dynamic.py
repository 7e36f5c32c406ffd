# question: q079-failed-jobs · style: dynamic · author: an operator author
jobs = k8s.get("jobs.batch")
failed = {}
for job in jobs:
    cond = next((c for c in (job.status.conditions or []) if c["type"] == "Failed" and c["status"] == "True"), None)
    if cond:
        failed["{}/{}".format(job.metadata.namespace, job.metadata.name)] = cond.get("reason")
failed
