# question: q083-job-durations · style: classes · author: an engineer who measures
from dataclasses import dataclass
from datetime import datetime


@dataclass
class JobRun:
    name: str
    start: datetime
    end: datetime

    @property
    def seconds(self) -> int:
        return int((self.end - self.start).total_seconds())


runs = [
    JobRun(j.metadata.name, j.status.start_time, j.status.completion_time)
    for j in k8s.batchV1().list_namespaced_job("batch").items
    if j.status.completion_time
]
{r.name: r.seconds for r in runs}
