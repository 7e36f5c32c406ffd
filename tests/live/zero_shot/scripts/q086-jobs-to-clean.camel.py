# question: q086-jobs-to-clean · style: camel · author: a JavaScript developer new to Python
from datetime import datetime, timezone
limit = datetime.now(timezone.utc) - timedelta(days=7)
result = []
for job in k8s.batchV1().listJobForAllNamespaces()["items"]:
    done = job.get("status", {}).get("completionTime")
    if done is None:
        continue
    if datetime.strptime(done, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc) < limit and job["spec"].get("ttlSecondsAfterFinished") is None:
        result.append(job["metadata"]["namespace"] + "/" + job["metadata"]["name"])
sorted(result)
