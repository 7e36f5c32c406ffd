# question: q083-job-durations · style: dynamic · author: an operator developer used to the DynamicClient
from datetime import datetime

def parse(ts):
    return datetime.fromisoformat(ts.replace("Z", "+00:00"))

jobs = k8s.dynamic().resources.get(api_version="batch/v1", kind="Job").get(namespace="batch")
{j.metadata.name: int((parse(j.status.completionTime) - parse(j.status.startTime)).total_seconds()) for j in jobs.items if j.status.completionTime}
